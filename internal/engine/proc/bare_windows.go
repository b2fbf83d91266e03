package proc

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc/jobobject"
)

// maxArg is below Windows' limit of 32,767 characters for a command line.
const maxArg = 30 << 10

// bare is a command in a job object, which contains all processes that it starts.
type bare struct {
	process *os.Process
	job     *jobobject.Job
	exits   chan exit
	ended   chan struct{}
	once    sync.Once
	stopped chan struct{}
	left    int // set before ended is closed
}

func startBare(s *spec, _ *ledger) (tree, *os.File, *ledgerEntry, error) {
	if s.script != "" {
		return nil, nil, nil, errors.New("command line too long for this system; put it in a file")
	}
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
	attr := jobobject.Attributes()
	attr.CmdLine = s.raw
	p, job, err := startInJob(s.argv[0], s.argv, &os.ProcAttr{Dir: s.dir, Env: s.env, Files: files, Sys: attr})
	if err != nil {
		r.Close()
		s.errs.Close()
		return nil, nil, nil, err
	}
	t := &bare{
		process: p, job: job, exits: make(chan exit, 1), ended: make(chan struct{}), stopped: make(chan struct{}),
	}
	go t.wait()
	return t, r, nil, nil
}

// startInJob starts a process in a new job.
func startInJob(path string, argv []string, attr *os.ProcAttr) (*os.Process, *jobobject.Job, error) {
	job, err := jobobject.Open()
	if err != nil {
		return nil, nil, err
	}
	p, err := os.StartProcess(path, argv, attr)
	if err == nil {
		if err = job.Adopt(p); err != nil {
			p.Wait()
		}
	}
	if err != nil {
		job.Close()
		return nil, nil, err
	}
	return p, job, nil
}

// wait waits for the command, then for processes that it left.
func (t *bare) wait() {
	defer close(t.ended)
	defer t.job.Close()
	dead := make(chan exit, 1)
	go func() {
		st, err := t.process.Wait()
		if err != nil {
			dead <- exit{code: -1, note: "Waiting for the command failed: " + err.Error() + "."}
			return
		}
		dead <- exit{code: st.ExitCode()}
	}()
	select {
	case e := <-dead:
		e.leftover = t.job.Count()
		t.exits <- e
	case <-t.stopped:
		if t.job.Kill() != nil {
			t.process.Kill()
		}
		t.exits <- <-dead
	}
	stopped, last := t.stopped, time.Time{}
	for {
		if t.left = t.job.Count(); t.left == 0 || !last.IsZero() && time.Now().After(last) {
			return
		}
		select {
		case <-stopped:
			t.job.Kill()
			stopped, last = nil, time.Now().Add(patience)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (t *bare) exited() <-chan exit   { return t.exits }
func (t *bare) gone() <-chan struct{} { return t.ended }
func (t *bare) remaining() int        { return t.left }

// stop kills all processes at once: Windows has no signal that asks all programs to exit.
func (t *bare) stop(time.Duration) { t.once.Do(func() { close(t.stopped) }) }

func (t *bare) abandon() { <-t.ended }
