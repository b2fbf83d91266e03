// Package proc runs commands with timeouts, and stops all processes that they
// start.
//
//	func main() {
//		helper := proc.Main() // before anything else; never returns in a helper process
//		r := proc.Open(proc.Options{Helper: helper, State: dir})
//		defer r.Close()
//		out, err := r.Run(ctx, proc.Command{Line: "make test", Dir: dir, Env: proc.Environ(os.Environ(), nil)})
//		...
//	}
//
// A command runs in a session of its own with nothing to read on its standard
// input. Run returns when the command exits, even if something it started
// holds the output open, and all that was printed before the exit is in the
// result. A timeout or a cancelled context ends the whole tree: TERM, then
// KILL after a short grace.
//
// On Linux each command has a keeper: this program's own binary, executed
// again, which Main recognises. It is the command's parent and the subreaper
// of all that descends from it, so that no double fork and no setsid escapes,
// and when this program dies, however it dies, the keeper's control socket
// closes and it ends everything. Processes a command leaves running in the
// background (`server &`) stay under their keeper until Close. A ledger in
// Options.State lets the next start end what even that could not, see Reap. What
// outlives a keeper that was killed is found by a marker in its environment and
// by a resource limit, which stays if the environment is cleared.
//
//	this program ─┬─ keeper ─── bash ─── ...
//	              ├─ keeper ─── server (left by a command that has returned)
//	              └─ keeper     (idle: waits for the next command)
//
// Without the call of Main, and on other systems, commands are ended by
// process group (and on Linux by what /proc shows); Outcome.Notes says so.
//
// With Command.Sandbox a command runs in a sandbox, see package sandbox. It is the keeper's one thread that enters the box and starts
// the command there, so without keepers there are none on Linux: such a command
// does not run, or says that it ran without. For boxes with namespaces there is
// a second idle keeper, in a user namespace of its own.
//
// Callers decide what may run, in which directory and with which environment.
package proc
