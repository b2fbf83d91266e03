package proc

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

// tree is a started command with its descendants.
type tree interface {
	// exited returns a channel with one value: how the command itself ended.
	exited() <-chan exit
	// gone returns a channel that is closed when no process is left.
	gone() <-chan struct{}
	// stop starts to stop everything; gone is closed when that is done. It may be called more than once.
	stop(grace time.Duration)
	// remaining returns how many processes couldn't be stopped. It is known when gone is closed.
	remaining() int
	// abandon stops what it can if stop had no effect, and waits for gone.
	abandon()
}

// exit is how a command ended.
type exit struct {
	code     int
	signal   syscall.Signal
	leftover int
	note     string
	report   sandbox.Report
}

// spec is a command prepared to start.
type spec struct {
	argv   []string
	raw    string // the whole command line, on Windows; empty: made of argv
	script string // if not empty: the shell reads it as a file, appended to argv
	dir    string
	env    []string
	marker string // value of markerVar in env
	input  string // for its standard input; empty: none
	probe  bool   // it only tests what works
	// proxied means that it reaches others through a proxy on its own loopback, which serve is given
	proxied bool
	serve   func(net.Listener)

	talk    *[2]*os.File // its standard input and output; nil: its output is the pipe's
	talkFDs []int        // the same in the keeper
	split   bool         // its standard error is separate from its output
	errs    *os.File     // read end of that, once it has started

	box   *sandbox.Spec // nil: none
	plan  sandbox.Plan
	made  *sandbox.Box // the sandbox, if this process makes it
	notes []string     // for the outcome
}

// plans plans the sandbox of the command.
func (s *spec) plans(box *sandbox.Spec) (err error) {
	if !box.Boxed() {
		return nil
	}
	if s.plan, err = box.Plan(); err != nil {
		return fmt.Errorf("run command: %w", err)
	}
	s.box = box
	if s.plan.PrivateSockets && box.Mode != sandbox.Trial {
		s.box = box.WithHostSockets()
	}
	return nil
}

// unbox removes the sandbox from a command that can't have one for lack of a keeper, if it may run without. why is the
// reason for the lack.
func (s *spec) unbox(why error) error {
	if s.box == nil {
		return nil
	}
	if plan, ok := s.plan.WithoutHelper(); ok {
		s.plan = plan
		return nil
	}
	if !s.box.BestEffort || s.plan.Limits {
		return fmt.Errorf("create a %s sandbox: %w", s.box.Mode, why)
	}
	s.notes = append(s.notes, fmt.Sprintf("The command ran without its %s sandbox: %v.", s.box.Mode, why))
	s.box, s.plan = nil, sandbox.Plan{}
	return nil
}

// mode returns the mode of the sandbox, if there is one.
func (s *spec) mode() sandbox.Mode {
	if s.box == nil || s.plan.Layers == 0 {
		return sandbox.Off
	}
	return s.box.Mode
}

// errNoKeeper means that nothing can be sandboxed.
var errNoKeeper = errors.New("it requires a supervisor process")

// markerVar is in the environment of every command, with an unguessable value. It finds processes that escaped
// everything else.
const markerVar = "ADZE_RUN"

func newMarker() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// boxTemp returns the path of the private temp directory of a command's sandbox. It is derived from the marker, so that
// it is found when a keeper has died.
func boxTemp(marker string) string { return filepath.Join(os.TempDir(), "adze-box-"+marker) }

// patience is how long to try to stop processes that survive SIGKILL: processes of another user, or in a system call
// that doesn't return.
const patience = 2 * time.Second

// pipeOf creates the pipe for a command's output.
func pipeOf() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err == nil {
		widen(w)
	}
	return r, w, err
}

// streams returns the files of a command without a keeper, whose output is w. done closes those that are only for the
// command.
func (s *spec) streams(w *os.File) (files []*os.File, done func(), err error) {
	if s.talk != nil {
		return []*os.File{s.talk[0], s.talk[1], w}, func() {}, nil
	}
	in, err := s.stdin()
	if err != nil {
		return nil, nil, err
	}
	if !s.split {
		return []*os.File{in, w, w}, func() { in.Close() }, nil
	}
	errs, apart, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	s.errs = errs
	return []*os.File{in, w, apart}, func() { in.Close(); apart.Close() }, nil
}

// stdin returns the command's standard input.
func (s *spec) stdin() (*os.File, error) {
	if s.input == "" {
		return os.Open(os.DevNull)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		defer w.Close()
		io.WriteString(w, s.input) // a command may not read it
	}()
	return r, nil
}
