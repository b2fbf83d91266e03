// Package sandbox restricts commands with features of the operating
// system.
//
//	spec := sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{dir}, Write: sandbox.Caches(os.Environ())}
//	out, err := runner.Run(ctx, proc.Command{Line: "make test", Dir: dir, Sandbox: &spec})
//
// A sandbox consists of layers, each used where the kernel supports it. Probe
// reports which work and why others don't, and Spec.Plan what a sandbox lacks:
//
//	Landlock     writes only below the listed paths; no signals, no tracing and
//	             no abstract sockets to what runs outside
//	seccomp      no network, no tracing, no io_uring, no mounts, no keys, no
//	             datagram socket pairs; in read-only no change of mode, owner,
//	             time or attribute either; without the namespaces for them no
//	             shared memory and no limits of other processes
//	namespaces   a user and mount namespace in which all but the listed paths is
//	             mounted read-only and protected paths are too, with few
//	             devices and terminals of its own; an IPC namespace; a network
//	             namespace that has nothing but its own loopback; a pid
//	             namespace in which no other processes are seen or signalled
//	bubblewrap   instead of namespaces, if requested; Landlock runs inside
//	seatbelt     on macOS; follows its documentation; untested
//
// On Linux a box is entered by one thread (Apart.Enter, then Box.Enter), which
// then starts exactly one command: package proc does that in its keeper
// processes. Reading is not limited: which files may be read is for whoever
// approves commands to say, and what a command has read it cannot send
// anywhere.
//
// Callers decide which command gets which sandbox.
package sandbox
