//go:build unix

package proc

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// bare is a command without a keeper. Its group, and on Linux its descendants, its session and its marker in /proc, can
// be stopped; processes that escape all three can't.
type bare struct {
	process *os.Process
	marker  string
	box     *sandbox.Box // nil: none
	exits   chan exit
	ended   chan struct{}
	once    sync.Once
	stopped chan time.Duration
	left    int // set before ended is closed
}

// startBare starts a command as a direct child.
func startBare(s *spec, l *ledger) (tree, *os.File, *ledgerEntry, error) {
	r, w, err := pipeOf()
	if err != nil {
		return nil, nil, nil, err
	}
	defer w.Close()
	files, done, err := s.streams(w)
	if err != nil {
		r.Close()
		return nil, nil, nil, err
	}
	defer done()
	argv := s.argv
	if s.script != "" {
		f, err := tempScript(s.script)
		if err != nil {
			r.Close()
			s.errs.Close()
			return nil, nil, nil, err
		}
		defer f.Close()
		files, argv = append(files, f), append(argv, "/dev/fd/3")
	}
	box, more, err := withSandbox(s, &argv, len(files))
	if err != nil {
		r.Close()
		s.errs.Close()
		return nil, nil, nil, err
	}
	for _, f := range more {
		defer f.Close()
		files = append(files, f)
	}
	if box != nil {
		closeInherited()
	}
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{
		Dir: s.dir, Env: s.env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		r.Close()
		s.errs.Close()
		if box != nil {
			box.Remove()
		}
		return nil, nil, nil, err
	}
	t := &bare{
		process: p, box: box, marker: s.marker, exits: make(chan exit, 1), ended: make(chan struct{}),
		stopped: make(chan time.Duration, 1),
	}
	e := t.record(l)
	go t.wait()
	return t, r, e, nil
}

// withSandbox prepends the program that makes the sandbox to the command.
func withSandbox(s *spec, argv *[]string, fd int) (box *sandbox.Box, more []*os.File, err error) {
	if s.box == nil {
		return nil, nil, nil
	}
	box = sandbox.New(s.box, s.plan, boxTemp(s.marker))
	box.Make()
	if *argv, more, err = box.Argv(*argv, s.dir, fd, true); err != nil {
		box.Remove()
		return nil, nil, &boxError{why: err.Error()}
	}
	s.env = box.Environ(s.env)
	return box, more, nil
}

// tempScript returns an unlinked file with a command that is too long for an argument.
func tempScript(script string) (*os.File, error) {
	f, err := os.CreateTemp("", "command-*")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name())
	if _, err = f.WriteString(script); err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// wait waits for the command, then for processes that it left.
func (t *bare) wait() {
	defer close(t.ended)
	if t.box != nil {
		defer t.box.Remove()
	}
	dead := make(chan exit, 1)
	go func() {
		st, err := t.process.Wait()
		if err != nil {
			dead <- exit{
				code: -1, signal: syscall.SIGKILL, note: "Waiting for the command failed: " + err.Error() + ".",
			}
			return
		}
		dead <- exitOf(st.Sys().(syscall.WaitStatus), 0)
	}()
	select {
	case e := <-dead:
		e.leftover = t.count()
		t.exits <- e
		t.awaitLeftovers()
	case grace := <-t.stopped:
		if t.left = t.end(grace); t.left > 0 {
			return // possibly the command itself: its exit may never come
		}
		t.exits <- <-dead
	}
}

// awaitLeftovers checks regularly whether they have exited, and stops them on request.
func (t *bare) awaitLeftovers() {
	for t.count() > 0 {
		select {
		case grace := <-t.stopped:
			t.left = t.end(grace)
			return
		case <-time.After(250 * time.Millisecond):
		}
	}
}

func (t *bare) exited() <-chan exit   { return t.exits }
func (t *bare) gone() <-chan struct{} { return t.ended }

func (t *bare) stop(grace time.Duration) { t.once.Do(func() { t.stopped <- grace }) }

func (t *bare) remaining() int { return t.left }

func (t *bare) abandon() { <-t.ended }

func exitOf(ws syscall.WaitStatus, leftover int) exit {
	e := exit{code: ws.ExitStatus(), leftover: leftover}
	if ws.Signaled() {
		e.signal = ws.Signal()
	}
	return e
}
