package proc

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// Here runs a command in the foreground with this program's own standard streams and terminal, in its sandbox if it has
// one, for a user who wants to try one. Processes that it leaves running are not stopped, unless the sandbox has a PID
// namespace, and the outcome has no Output. In such a sandbox a signal that ends the command is an exit code of 128
// plus its number, as in a shell. tell receives the notes of the sandbox before anything runs.
func Here(ctx context.Context, h Helper, c Command, tell func(note string)) (Outcome, error) {
	c, err := c.withDefaults()
	if err != nil {
		return Outcome{}, err
	}
	s, note, err := Open(Options{}).spec(c)
	if err != nil {
		return Outcome{}, err
	}
	if err := s.plans(c.Sandbox); err != nil {
		return Outcome{}, err
	}
	if missing := h.missing(); missing != nil {
		if err := s.unbox(missing); err != nil {
			return Outcome{}, err
		}
	}
	notes := append(sentences(append(s.notes, note)...), s.plan.Notes...)
	for _, n := range notes {
		tell(n)
	}
	if s.box != nil {
		// the command replaces the process that would listen
		if !s.plan.InProcess() || !s.plan.Layers.Has(sandbox.PIDs) {
			s.plan.Layers &^= sandbox.Notify
			s.plan.PrivateSockets = false
		}
		s.made = sandbox.New(s.box, s.plan, boxTemp(s.marker))
		s.made.Make()
		defer s.made.Remove()
	}
	began := time.Now()
	// Keyboard signals are for the command.
	typed := make(chan os.Signal, 1)
	signal.Notify(typed, os.Interrupt)
	defer signal.Stop(typed)
	// Before it starts, because it may have to be stopped immediately.
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	defer signal.Stop(told)
	if s.plan.Launched { // bubblewrap ends with the thread that starts it
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	p, report, err := startHere(h, &s)
	if err != nil {
		return Outcome{}, startError(s, err)
	}
	stop := context.AfterFunc(ctx, func() { p.Kill() })
	defer stop()
	defer passOn(told, p)()
	st, err := p.Wait()
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Exit: st.ExitCode(), Duration: time.Since(began), Boxed: s.mode(), Notes: notes}
	r := report()
	o.Hidden, o.MoreHidden, o.Network, o.Limit = r.Hidden, r.MoreHidden, r.Network, r.Limit
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		o.Signal = ws.Signal()
	}
	if ctx.Err() != nil {
		o.Ended = Cancelled
	}
	return o, nil
}

// noReport returns an empty report, for a command that isn't watched.
func noReport() sandbox.Report { return sandbox.Report{} }

// passOn passes termination signals on to a process, until the returned function is called.
func passOn(told <-chan os.Signal, p *os.Process) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-told:
				p.Signal(syscall.SIGTERM)
			case <-over:
				return
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}

// streams returns the command's streams: this program's own. A sandboxed command gets no directory among them, because
// files below it could be opened past the mounts of the sandbox.
func streams(s *spec) (files []*os.File, done func()) {
	files = []*os.File{os.Stdin, os.Stdout, os.Stderr}
	var null *os.File
	for i, f := range files {
		if st, err := f.Stat(); s.made == nil || err != nil || !st.IsDir() {
			continue
		}
		if null == nil {
			null, _ = os.OpenFile(os.DevNull, os.O_RDWR, 0) // if that fails the stream is closed
		}
		files[i] = null
	}
	return files, func() { null.Close() } // it does nothing for a nil file
}

// startPlain starts the command itself, or the program that sandboxes it.
func startPlain(s *spec) (*os.Process, error) {
	closeInherited()
	argv, env := s.argv, s.env
	files, done := streams(s)
	defer done()
	if s.made != nil {
		var more []*os.File
		var err error
		if argv, more, err = s.made.Argv(argv, s.dir, len(files), false); err != nil {
			return nil, &boxError{why: err.Error()}
		}
		for _, f := range more {
			defer f.Close()
			files = append(files, f)
		}
		env = s.made.Environ(env)
	}
	return os.StartProcess(argv[0], argv, &os.ProcAttr{Dir: s.dir, Env: env, Files: files})
}
