package proc

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/proc/sandbox"
)

// Options say how a Runner works. The zero value works, without a helper.
type Options struct {
	Helper Helper // what Main returned
	State  string // folder for the ledger, created if missing; empty means none
	Shell  string // path of the shell; empty means bash, or sh without it
	Mask   *Mask  // secrets to keep out of output

	// Grace is the time between TERM and KILL; 0 means 100 ms.
	Grace time.Duration
	// Drain is how long output is still read after the command has exited
	// while something else holds it open; 0 means 50 ms. What was printed
	// before the exit is read in any case.
	Drain time.Duration
}

// ErrClosed is what Start returns after Close.
var ErrClosed = errors.New("run command: the runner is closed")

// Runner starts commands and knows all that still run.
type Runner struct {
	opt    Options
	ledger *ledger
	keeper *keepers

	mu     sync.Mutex
	live   map[*Process]bool // not gone yet, leftovers of ended ones included
	closed bool
}

// Open returns a Runner. Nothing is started before the first command.
func Open(opt Options) *Runner {
	opt.Grace = orElse(opt.Grace, 100*time.Millisecond)
	opt.Drain = orElse(opt.Drain, 50*time.Millisecond)
	return &Runner{opt: opt, ledger: openLedger(opt.State), keeper: newKeepers(opt.Helper), live: map[*Process]bool{}}
}

// Health says what protects here and what does not, for people.
type Health struct {
	Shell  string   // path of the shell
	Helper bool     // commands have a keeper
	Notes  []string // what is missing and what that means
	// Sandbox is what boxes can be made of here: what the kernel seems to
	// have, less what did not work when it was tried.
	Sandbox sandbox.Support
}

// Health looks at what a command would get; it starts keepers to see.
func (r *Runner) Health() Health {
	r.keeper.probe()
	h := Health{Sandbox: sandbox.Probe()}
	if r.keeper.works() {
		// A box that writes nothing anywhere, tried with all there is.
		_, err := r.Run(context.Background(), Command{Line: "true", Dir: "/", Timeout: startTime, Sandbox: &sandbox.Spec{Mode: sandbox.Workspace, BestEffort: true}})
		if err != nil {
			h.Notes = append(h.Notes, "Testing the sandbox failed: "+err.Error()+".")
		}
	}
	if lost, why := r.keeper.losses(); lost != 0 {
		h.Sandbox = h.Sandbox.Lose(lost, why.Error())
	}
	if h.Helper = r.keeper.works(); !h.Helper {
		h.Sandbox = h.Sandbox.Lose(sandbox.Landlock|sandbox.Seccomp|sandbox.Namespaces|sandbox.PIDs, errNoKeeper.Error())
	}
	path, note, err := r.shell()
	if h.Shell = path; err != nil {
		note = err.Error()
	}
	h.Notes = append(h.Notes, sentences(note, r.keeper.note(), r.ledger.note())...)
	return h
}

// Warm makes the first command start sooner. It does not wait.
func (r *Runner) Warm() {
	if r.keeper.works() {
		r.keeper.refill(plain)
	}
}

// Run runs a command to its end. An error means that it did not start.
func (r *Runner) Run(ctx context.Context, c Command) (Outcome, error) {
	p, err := r.Start(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	return p.Wait(), nil
}

// Start starts a command. It is ended when the context is, unless Detach was
// called before.
func (r *Runner) Start(ctx context.Context, c Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("run command: not started: %w", err)
	}
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s, note, err := r.spec(c)
	if err != nil {
		return nil, err
	}
	if err := s.plans(c.Sandbox); err != nil {
		return nil, err
	}
	p := newProcess(r, c)
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrClosed
	}
	r.live[p] = true
	r.mu.Unlock()
	if err := p.start(ctx, s, note); err != nil {
		r.forget(p)
		close(p.gone) // Close may be waiting
		return nil, err
	}
	return p, nil
}

func (r *Runner) spec(c Command) (s spec, note string, err error) {
	s = spec{argv: c.Argv, dir: c.Dir, marker: newMarker(), input: string(c.Input), split: c.Stderr != nil}
	// Of a program inside a program the inner one's marker counts.
	s.env = append(slices.DeleteFunc(c.Env, func(kv string) bool { return name(kv) == markerVar }), markerVar+"="+s.marker)
	if c.Line == "" {
		s.argv = slices.Clone(c.Argv)
		if s.argv[0], err = exec.LookPath(c.Argv[0]); err != nil {
			err = fmt.Errorf("run command: %w; is it installed?", err)
		}
		return s, "", err
	}
	shell, note, err := r.shell()
	if err != nil {
		return s, "", fmt.Errorf("run command: %w", err)
	}
	if s.argv = shellArgv(shell, c.Line); len(c.Line) >= maxArg {
		s.argv, s.script = s.argv[:1], c.Line
	}
	return s, note, nil
}

func (r *Runner) shell() (path, note string, err error) {
	if r.opt.Shell != "" {
		return r.opt.Shell, "", nil
	}
	return findShell()
}

func (r *Runner) forget(p *Process) {
	r.mu.Lock()
	delete(r.live, p)
	r.mu.Unlock()
}

// Leftovers counts the commands that have returned but left something running.
func (r *Runner) Leftovers() int {
	n := 0
	for _, p := range r.processes() {
		select {
		case <-p.done:
			n++
		default:
		}
	}
	return n
}

func (r *Runner) processes() []*Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*Process, 0, len(r.live))
	for p := range r.live {
		all = append(all, p)
	}
	return all
}

// Close ends every command and all that commands left running, and returns
// when they are gone. Starting after it is an error.
func (r *Runner) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	all := r.processes()
	for _, p := range all {
		p.Stop()
	}
	left := 0
	for _, p := range all {
		<-p.gone
		if p.tree != nil {
			left += p.tree.remaining()
		}
	}
	r.keeper.close()
	if left > 0 {
		return fmt.Errorf("stop all commands: %d processes could not be killed. If a ledger is configured, the next start tries again", left)
	}
	return nil
}

// sentences drops what is empty.
func sentences(all ...string) []string {
	var out []string
	for _, s := range all {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// CanLimit says why the reads of commands can't be limited, or nil: see
// sandbox.Limits. The first time it tries it with a command that does nothing.
func (r *Runner) CanLimit(bubblewrap bool) error {
	if !r.keeper.works() {
		return errNoKeeper
	}
	all := []string{"/"}
	spec := &sandbox.Spec{Mode: sandbox.ReadOnly, Limits: &sandbox.Limits{Read: all, Execute: all}, Bubblewrap: bubblewrap}
	o, err := r.Run(context.Background(), Command{Line: ":", Dir: "/", Timeout: startTime, Sandbox: spec})
	if err == nil && o.Exit != 0 {
		err = fmt.Errorf("try the sandbox: %s", o.Output.String())
	}
	return err
}
