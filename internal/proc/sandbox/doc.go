// Package sandbox holds a command to what was promised about it, by the
// kernel.
//
//	spec := sandbox.Spec{Mode: sandbox.Workspace, Roots: []string{dir}, Write: sandbox.Caches(os.Environ())}
//	out, err := runner.Run(ctx, proc.Command{Line: "make test", Dir: dir, Sandbox: &spec})
//
// A box is made of layers, each used where the kernel has it; Probe says which
// do and why the others do not, and Spec.Plan what a box would lack:
//
//	Landlock     writes only below the listed paths; no signals, no tracing and
//	             no abstract sockets to what runs outside
//	seccomp      no network, no tracing, no io_uring, no mounts, no keys; in
//	             read-only no change of mode, owner, time or attribute either
//	namespaces   a user and mount namespace in which all but the listed paths is
//	             mounted read-only and protected paths are too; a network
//	             namespace that has nothing but its own loopback; a pid
//	             namespace in which no other processes are seen or signalled
//	bubblewrap   in the place of Landlock and namespaces, if asked for
//	seatbelt     on macOS; written after its documentation and never tried
//
// On Linux a box is entered by one thread (Apart.Enter, then Box.Enter), which
// then starts exactly one command: package proc does that in its keeper
// processes. Reading is not limited: which files may be read is for whoever
// approves commands to say, and what a command has read it cannot send
// anywhere.
//
// The package decides nothing: which command gets which box is the caller's
// business.
package sandbox
