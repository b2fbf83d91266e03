package proc

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// This file is the program's side of the keepers.

// keepers starts one keeper for each command.
type keepers struct {
	helper Helper
	mu     sync.Mutex
	broken error // why keepers cannot be started
}

func newKeepers(h Helper) *keepers { return &keepers{helper: h} }

// works reports whether commands get a keeper.
func (k *keepers) works() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.helper.path != "" && k.broken == nil
}

func (k *keepers) note() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.helper.path == "":
		return "This program does not call proc.Main first: commands run without a keeper, and a process that hides from its group and clears its environment may outlive them."
	case k.broken != nil:
		return fmt.Sprintf("The keeper process could not be started (%v): a process that hides from its group and clears its environment may outlive its command.", k.broken)
	}
	return ""
}

// start starts a command, under a keeper if possible.
func (k *keepers) start(s spec, l *ledger) (tree, *os.File, *entry, error) {
	if k.works() {
		t, out, err := k.keeper()
		if err == nil {
			e := l.add(t.id, s.marker)
			if err = t.run(s); err == nil {
				return t, out, e, nil
			}
			out.Close()
			<-t.gone()
			e.remove()
			return nil, nil, nil, err
		}
		k.mu.Lock()
		k.broken = err
		k.mu.Unlock()
	}
	return startBare(s, l)
}

// keeper starts one and returns it with the read end of its command's output.
func (k *keepers) keeper() (*kept, *os.File, error) {
	r, w, err := pipeOf()
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	theirs := os.NewFile(uintptr(fds[1]), "control")
	defer theirs.Close()
	unix.SetNonblock(fds[0], true) // before NewFile, so that reading blocks no thread
	ours := os.NewFile(uintptr(fds[0]), "control")
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err == nil {
		defer null.Close()
		var p *os.Process
		p, err = os.StartProcess(k.helper.path, []string{"adze-keeper", helperArg}, &os.ProcAttr{
			Env:   helperEnv(),
			Files: []*os.File{null, null, null, theirs, w},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
		if err == nil {
			return newKept(p, ours), r, nil
		}
	}
	r.Close()
	ours.Close()
	return nil, nil, err
}

// helperEnv is a keeper's own environment: no secrets, and a runtime that
// starts small.
func helperEnv() []string {
	env := []string{"GOMAXPROCS=2", "GOGC=off", "GOMEMLIMIT=32MiB"}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		env = append(env, "GOCOVERDIR="+dir)
	}
	return env
}

func (k *keepers) close() {}

// kept is a command under a keeper.
type kept struct {
	keeper  *os.Process
	id      target
	ctl     *os.File
	marker  string
	started chan error
	exits   chan exit
	ended   chan struct{}
	left    int // set before ended is closed
}

func newKept(p *os.Process, ctl *os.File) *kept {
	t := &kept{keeper: p, id: target{pid: p.Pid}, ctl: ctl, started: make(chan error, 1), exits: make(chan exit, 1), ended: make(chan struct{})}
	if s, ok := statusOf(p.Pid); ok {
		t.id = s.target
	}
	return t
}

// errLost is what a command gets whose keeper is no more.
var errLost = errors.New("the keeper process ended unexpectedly")

// run hands the command over and waits until it has started.
func (t *kept) run(s spec) error {
	t.marker = s.marker
	go t.listen()
	if err := send(t.ctl, msgRun, s.encode()); err != nil {
		t.keeper.Kill()
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return <-t.started
}

// listen takes the keeper's messages until it ends.
func (t *kept) listen() {
	var started, exited, clean bool
	for {
		kind, body, err := receive(t.ctl)
		if err != nil {
			break
		}
		switch kind {
		case msgStarted:
			started = true
			t.started <- nil
		case msgFailed:
			started, exited, clean = true, true, true
			t.started <- syscall.Errno(number(body, 0))
		case msgExited:
			exited = true
			t.exits <- exitOf(syscall.WaitStatus(number(body, 0)), number(body, 1))
		case msgEmpty:
			clean = true
		case msgLeft:
			clean = true
			t.left = number(body, 0)
		}
	}
	t.ctl.Close()
	if !clean { // somebody killed the keeper
		t.left = endAll(func() []target { return marked(t.marker, 0) }, nil, 0)
	}
	if !exited {
		t.exits <- exit{code: -1, signal: syscall.SIGKILL, note: "The command's keeper process was killed, and the command with it."}
	}
	if !started {
		t.started <- errLost
	}
	t.keeper.Wait()
	close(t.ended)
}

func (t *kept) exited() <-chan exit   { return t.exits }
func (t *kept) gone() <-chan struct{} { return t.ended }

func (t *kept) stop(grace time.Duration) {
	send(t.ctl, msgStop, numbers(int(grace.Milliseconds()))) // a keeper that is gone has ended all
}

func (t *kept) remaining() int { return t.left }

func (t *kept) abandon() {
	endAll(func() []target { return append(descendants(t.id.pid), marked(t.marker, 0)...) }, nil, 0)
	t.keeper.Kill()
	<-t.ended
}
