package proc

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// maxArg is below Windows' limit of 32,767 characters for a command line.
const maxArg = 30 << 10

// bare is a command and its child processes, as taskkill finds them.
type bare struct {
	process *os.Process
	exits   chan exit
	ended   chan struct{}
	once    sync.Once
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
	p, err := os.StartProcess(s.argv[0], s.argv, &os.ProcAttr{
		Dir: s.dir, Env: s.env, Files: files,
		Sys: &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true, CmdLine: s.raw},
	})
	if err != nil {
		r.Close()
		s.errs.Close()
		return nil, nil, nil, err
	}
	t := &bare{process: p, exits: make(chan exit, 1), ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		st, err := p.Wait()
		if err != nil {
			t.exits <- exit{code: -1, note: "Waiting for the command failed: " + err.Error() + "."}
			return
		}
		t.exits <- exit{code: st.ExitCode()}
	}()
	return t, r, nil, nil
}

func (t *bare) exited() <-chan exit   { return t.exits }
func (t *bare) gone() <-chan struct{} { return t.ended }
func (t *bare) remaining() int        { return 0 }

// stop kills the tree at once: Windows has no signal that asks all programs to exit.
func (t *bare) stop(time.Duration) {
	t.once.Do(func() {
		if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(t.process.Pid)).Run() != nil {
			t.process.Kill()
		}
	})
}

func (t *bare) abandon() {
	t.process.Kill()
	<-t.ended
}
