// Package proc runs commands with timeouts, and stops all processes that they start.
//
//	func main() {
//		helper := proc.Main() // before anything else; never returns in a helper process
//		r := proc.Open(proc.Options{Helper: helper, State: dir})
//		defer r.Close()
//		out, err := r.Run(ctx, proc.Command{Line: "make test", Dir: dir, Env: proc.Environ(os.Environ(), nil)})
//		...
//	}
//
// A command runs in its own session with nothing to read on its standard input. Run returns when the command exits,
// even if a process it started keeps the output open, and the result has everything that was printed before the exit. A
// timeout or a cancelled context stops the whole tree: SIGTERM, then SIGKILL after a short grace period.
//
// On Linux each command has a keeper: this program's own binary, executed again, which Main recognizes. It is the
// command's parent and the subreaper of all its descendants, so that no double fork and no setsid escapes. When this
// program exits for any reason, the keeper's control socket closes and it stops everything. Processes that a command
// leaves running in the background (`server &`) stay under their keeper until Close. A ledger in Options.State lets the
// next start stop processes that even this missed, see Reap. Processes that outlive a killed keeper are found by a
// marker in their environment and by a resource limit, which stays if the environment is cleared.
//
//	this program ─┬─ keeper ─── bash ─── ...
//	              ├─ keeper ─── server (left by a command that has returned)
//	              └─ keeper     (idle: waits for the next command)
//
// Without the call of Main, and on other systems, commands are stopped by process group (and on Linux by what /proc
// shows); Outcome.Notes says so.
//
// With Command.Sandbox a command runs in a sandbox, see package sandbox. The keeper's one thread enters the sandbox and
// starts the command there, so without keepers there are no sandboxes on Linux: such a command doesn't run, or its
// notes say that it ran without. For sandboxes with namespaces there is a second idle keeper, in its own user
// namespace.
//
// Callers decide what may run, in which directory and with which environment.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/redact"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// liveTail is the length of a Progress' tail.
const liveTail = 4 << 10

// Process is a command that was started.
type Process struct {
	runner *Runner
	cmd    Command
	began  time.Time
	out    []*stream // its output, and its standard error if that is separate
	tree   tree
	entry  *ledgerEntry // in the ledger
	cap    *capture
	notes  []string
	mode   sandbox.Mode // of its sandbox

	detach, stopping     chan struct{} // requested
	detachOnce, stopOnce sync.Once
	done                 chan struct{} // outcome is set
	gone                 chan struct{} // no process is left
	outcome              Outcome
	liveDone             chan struct{}
	liveStop             chan struct{}
}

func newProcess(r *Runner, c Command) *Process {
	var mask *redact.Mask
	if r.opt.Mask != nil {
		mask = r.opt.Mask()
	}
	return &Process{
		runner: r, cmd: c, cap: newCapture(&c, mask, time.Now),
		detach: make(chan struct{}), stopping: make(chan struct{}),
		done: make(chan struct{}), gone: make(chan struct{}),
		liveDone: make(chan struct{}), liveStop: make(chan struct{}),
	}
}

// startTime is how long starting a command may take, which doesn't count as its time: a busy machine needs seconds for
// a sandbox.
const startTime = time.Minute

// start starts the command and its watchers.
func (p *Process) start(ctx context.Context, s spec, note string) error {
	p.began = time.Now()
	r := p.runner
	starting := ctx
	if limit := p.cmd.Timeout + startTime; p.cmd.Timeout > 0 && limit > 0 { // it may overflow
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		starting = limited
	}
	if s.talk != nil {
		defer s.talk[0].Close()
		defer s.talk[1].Close()
	}
	var err error
	var out *os.File
	if p.tree, out, p.entry, err = r.keeper.start(starting, &s, r.ledger); err != nil {
		return startError(s, err)
	}
	p.out = []*stream{newStream(out, r.opt.Drain, p.cap.write)}
	if s.errs != nil {
		p.out = append(p.out, newStream(s.errs, r.opt.Drain, func(b []byte) { p.cmd.Stderr.Write(b) }))
	}
	p.mode = s.mode()
	p.notes = append(sentences(append(s.notes, note, r.keeper.note(), r.ledger.note())...), s.plan.Notes...)
	for _, o := range p.out {
		go o.pump()
	}
	go p.live()
	go p.watch(ctx)
	return nil
}

// boxError reports that a command did not run because its sandbox could not be made.
type boxError struct {
	why   string
	early bool // before the command was known: no such sandbox can be made
}

func (e *boxError) Error() string { return "create the sandbox: " + e.why }

// startError returns an error that names the command.
func startError(s spec, err error) error {
	unmade := (*boxError)(nil)
	if errors.As(err, &unmade) || errors.Is(err, errNoKeeper) {
		return fmt.Errorf("run command: %w", err)
	}
	switch err = nofollow.Cause(err); {
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("run command: arguments and environment are too large for this system (%w). Put "+
			"data in a file", err)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("run command: start %s: %w; is it installed?", s.argv[0], err)
	}
	return fmt.Errorf("run command: start %s: %w", s.argv[0], err)
}

// watch waits for the end of the command, or stops it.
func (p *Process) watch(ctx context.Context) {
	why, e := p.await(ctx)
	quiet := p.cap.quiet()
	left := e.leftover
	if why != Exited {
		left = p.end()
		e = p.exitNow()
	}
	for _, o := range p.out {
		o.readToEnd()
	}
	if p.isGone() {
		left = p.tree.remaining()
	}
	close(p.liveStop)
	<-p.liveDone
	o := Outcome{
		Ended: why, Exit: e.code, Signal: e.signal, Duration: time.Since(p.began), Quiet: quiet, Leftover: left,
		Boxed: p.mode, Notes: append(p.notes, sentences(e.note)...),
	}
	o.Output, o.Hidden, o.MoreHidden = p.cap.finish(), e.report.Hidden, e.report.MoreHidden
	o.Network, o.Limit, o.Stopped = e.report.Network, e.report.Limit, e.report.Left
	o.Observed, o.Refused, o.Blocked = e.report.Observed, e.report.Writes, e.report.Refused
	if p.mode != sandbox.Off && why == Exited {
		scene := sandbox.Scene{Mode: p.mode, Dir: p.cmd.Dir, Protect: p.cmd.Sandbox.Protect, Exit: e.code}
		covers := sandbox.Ordered(p.cmd.Sandbox.Covers)
		scene.Denied = sandbox.Covered(covers, sandbox.Unwritable, sandbox.Unreadable)
		if p.mode == sandbox.Trial && e.code != 0 {
			o.Unfit = sandbox.Unfit(o.Output.Head + "\n" + o.Output.Tail)
		}
		if o.Observed && p.cmd.Sandbox.Limits != nil {
			scene.Hidden = sandbox.Covered(covers, sandbox.Empty)
			o.Hidden = scene.Refused(o.Output.Head + "\n" + o.Output.Tail)
		}
		s := sandbox.Suspect(scene, e.report.Refused, o.Output.Head+"\n"+o.Output.Tail)
		if o.Suspect, o.Remedy, o.Denied = s.Why, s.Remedy, s.Denied; p.mode == sandbox.Trial {
			o.Remedy = "" // its permissions are decided later
		}
	}
	p.outcome = o
	close(p.done)
	p.linger()
}

// await returns the reason for the end, and the exit status if it exited.
func (p *Process) await(ctx context.Context) (Ended, exit) {
	began := time.Now()
	var deadline <-chan time.Time
	if p.cmd.Timeout > 0 {
		t := time.NewTimer(p.cmd.Timeout)
		defer t.Stop()
		deadline = t.C
	}
	done, detach := ctx.Done(), p.detach
	for {
		select {
		case e := <-p.tree.exited():
			return Exited, e
		case <-p.stopping:
			return Stopped, exit{}
		case <-deadline:
			if p.isDetached() {
				deadline, done, detach = nil, nil, nil
				continue
			}
			if p.cmd.Held != nil {
				if left := p.cmd.Timeout + p.cmd.Held() - time.Since(began); left > 0 {
					deadline = time.After(left)
					continue
				}
			}
			return TimedOut, exit{}
		case <-done:
			if p.isDetached() { // before the context ended: a select may choose either
				deadline, done, detach = nil, nil, nil
				continue
			}
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return TimedOut, exit{}
			}
			return Cancelled, exit{}
		case <-detach:
			deadline, done, detach = nil, nil, nil
		}
	}
}

// end stops the tree and returns how many processes remain.
func (p *Process) end() int {
	grace := p.runner.opt.Grace
	p.tree.stop(grace)
	// The keeper gives up on processes that don't die after a while; this is for a keeper that doesn't respond.
	t := time.NewTimer(grace + patience + time.Second)
	defer t.Stop()
	select {
	case <-p.tree.gone():
	case <-t.C:
		p.tree.abandon()
	}
	return p.tree.remaining()
}

// exitNow returns how a stopped command ended.
func (p *Process) exitNow() exit {
	select {
	case e := <-p.tree.exited():
		return e
	default:
		return exit{code: -1, signal: syscall.SIGKILL}
	}
}

func (p *Process) isDetached() bool {
	select {
	case <-p.detach:
		return true
	default:
		return false
	}
}

func (p *Process) isGone() bool {
	select {
	case <-p.tree.gone():
		return true
	default:
		return false
	}
}

// linger waits for leftover processes, and cleans up after them.
func (p *Process) linger() {
	select {
	case <-p.tree.gone():
	case <-p.stopping:
		p.end()
	}
	for _, o := range p.out {
		o.close()
	}
	if p.tree.remaining() == 0 {
		p.entry.remove()
	}
	p.runner.forget(p)
	close(p.gone)
}

// Done returns a channel that is closed when the command has ended and its outcome is known.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end of the command.
func (p *Process) Wait() Outcome {
	<-p.done
	return p.outcome
}

// Detach detaches the command from its context and its timeout: it continues in the background.
func (p *Process) Detach() { p.detachOnce.Do(func() { close(p.detach) }) }

// Stop starts to stop the command and everything it started, including leftover processes after it has exited. It
// doesn't wait.
func (p *Process) Stop() { p.stopOnce.Do(func() { close(p.stopping) }) }

// Read returns output from an offset, at most about that many bytes; a negative offset is relative to the end. The last
// 256 KB can be read.
func (p *Process) Read(offset int64, limit int) Piece {
	return p.cap.read(offset, min(orElse(limit, readOn), readOn))
}

// Progress returns the current state of the command.
func (p *Process) Progress() Progress {
	tail, n, lines, quiet := p.cap.progress(liveTail)
	return Progress{Tail: tail, Bytes: n, Lines: lines, Quiet: quiet, Elapsed: time.Since(p.began)}
}

// live calls Command.Live when there is new output.
func (p *Process) live() {
	defer close(p.liveDone)
	if p.cmd.Live == nil {
		return
	}
	tick := time.NewTicker(p.cmd.LiveEvery)
	defer tick.Stop()
	var shown int64
	for last := false; !last; {
		select {
		case <-tick.C:
		case <-p.liveStop:
			last = true
		}
		if now := p.Progress(); now.Bytes != shown {
			shown = now.Bytes
			p.cmd.Live(now)
		}
	}
}

// Ended is why a command is no longer running.
type Ended int

// The ways to end.
const (
	Exited    Ended = iota // by itself, or by a signal of another process
	TimedOut               // Command.Timeout or the context's deadline passed
	Cancelled              // the context was cancelled
	Stopped                // Process.Stop, Jobs.Stop or Close
)

func (e Ended) String() string {
	return [...]string{"exited", "timed out", "cancelled", "stopped"}[e]
}

// Output is the output of a command, stdout and stderr interleaved, processed as a terminal would show it, with secrets
// masked.
type Output struct {
	Head string // the beginning; all of it if nothing was omitted
	Tail string // the end, if something in between was omitted

	OmittedBytes, OmittedLines int64 // approximate size of the part between Head and Tail

	Bytes, Lines int64 // of the whole, as printed
	Binary       bool  // it isn't text; Head has the text before it, if any
	SpillCut     bool  // Command.Spill has only the first SpillLimit bytes
	SpillErr     error // Command.Spill failed; the command continued
}

// String joins the two ends with a note about the omitted part.
func (o Output) String() string {
	if o.OmittedBytes == 0 {
		return o.Head
	}
	nl := ""
	if o.Head != "" && o.Head[len(o.Head)-1] != '\n' {
		nl = "\n"
	}
	return fmt.Sprintf("%s%s[%s lines, %s omitted]\n%s", o.Head, nl, humanize.Number(o.OmittedLines),
		humanize.Bytes(o.OmittedBytes), o.Tail)
}

// Outcome is how a command ended.
type Outcome struct {
	Ended    Ended
	Exit     int            // the exit code; -1 if a signal killed it
	Signal   syscall.Signal // the signal that killed it, or 0
	Duration time.Duration
	// Quiet is the time since the last output when the command ended or was stopped: a server that timed out was
	// usually not quiet.
	Quiet  time.Duration
	Output Output
	// Leftover is the number of processes that it left running in the background. They continue until Process.Stop or
	// Runner.Close. After a stop it is the number that couldn't be stopped.
	Leftover int
	// Boxed is the mode of the sandbox it ran in; Off if there was none.
	Boxed sandbox.Mode
	// Suspect is why a failed command probably failed because of its sandbox; empty: it didn't, as far as is known. See
	// sandbox.Suspect.
	Suspect string
	// Remedy is what would allow what the sandbox denied, if Suspect is set.
	Remedy string
	// Denied means that Suspect is about a deny rule.
	Denied bool
	// Hidden are the hidden files that the command opened, and read as empty; MoreHidden means that there were others.
	// If Observed is set it couldn't open them, and those are known that its output names.
	Hidden     []string
	MoreHidden bool
	// Network are the names and addresses that a command in a trial tried to reach.
	Network []string
	// Limit is the limit that stopped a command in a trial, in words; empty: none.
	Limit string
	// Stopped is the number of processes that a command in a trial left running, and that were stopped with it.
	Stopped int
	// Observed means that Refused is known: the supervisor process of an observed command reported it.
	Observed bool
	// Refused are the paths that an observed command tried to write, up to the first few; it was stopped at the first.
	// See sandbox.Spec.Observe.
	Refused []string
	// Blocked are other calls that its sandbox denied, in words: "the network".
	Blocked []string
	// Unfit is why a trial failed that would not fail without overlays; empty: unknown.
	Unfit string
	// Notes are complete sentences about deviations: sh instead of bash, no helper process, no ledger, a sandbox with
	// gaps.
	Notes []string
}

// Progress is the state of a running command.
type Progress struct {
	Tail         string // the last lines
	Bytes, Lines int64
	Elapsed      time.Duration
	Quiet        time.Duration // since the last output
}

// Piece is a part of the output of a running or finished command. Offsets count the bytes of the masked output.
type Piece struct {
	Text    string
	From    int64 // offset of its first byte
	Next    int64 // offset of the next piece
	Total   int64 // bytes so far
	Skipped int64 // bytes before From that were requested but are no longer available
	Binary  bool
}
