package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/adze-dev/adze/internal/proc/sandbox"
)

// liveTail is how much of the end a Progress shows.
const liveTail = 4 << 10

// startTime is how long to wait for the word that a command has started.
const startTime = 5 * time.Second

// Process is a command that was started.
type Process struct {
	runner *Runner
	cmd    Command
	began  time.Time
	out    []*stream // its output, and its standard error if that is apart
	tree   tree
	entry  *entry // in the ledger
	cap    *capture
	notes  []string
	mode   sandbox.Mode // of the box

	detach, stopping     chan struct{} // asked for
	detachOnce, stopOnce sync.Once
	done                 chan struct{} // outcome is set
	gone                 chan struct{} // no process is left
	outcome              Outcome
	liveDone             chan struct{}
	liveStop             chan struct{}
}

func newProcess(r *Runner, c Command) *Process {
	return &Process{
		runner: r, cmd: c, cap: newCapture(&c, r.opt.Mask, time.Now),
		detach: make(chan struct{}), stopping: make(chan struct{}),
		done: make(chan struct{}), gone: make(chan struct{}),
		liveDone: make(chan struct{}), liveStop: make(chan struct{}),
	}
}

// start starts the command and what watches it.
func (p *Process) start(ctx context.Context, s spec, note string) error {
	p.began = time.Now()
	r := p.runner
	within := startTime
	if p.cmd.Timeout > 0 {
		within = min(within, p.cmd.Timeout)
	}
	starting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
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

// boxError says that a command did not run because its box could not be made.
type boxError struct {
	why   string
	early bool // before the command was known: no box like it can be made
}

func (e *boxError) Error() string { return "create the sandbox: " + e.why }

// startError says what could not be started.
func startError(s spec, err error) error {
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	unmade := (*boxError)(nil)
	switch {
	case errors.As(err, &unmade), errors.Is(err, errNoKeeper):
		return fmt.Errorf("run command: %w", err)
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("run command: arguments and environment are too large for this system (%w). Put data in a file", err)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("run command: start %s: %w; is it installed?", s.argv[0], err)
	}
	return fmt.Errorf("run command: start %s: %w", s.argv[0], err)
}

// watch waits for the end of the command, or ends it.
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
	o := Outcome{Ended: why, Exit: e.code, Signal: e.signal, Duration: time.Since(p.began), Quiet: quiet, Leftover: left, Boxed: p.mode, Notes: append(p.notes, sentences(e.note)...)}
	o.Output, o.Hidden, o.MoreHidden = p.cap.finish(), e.report.Hidden, e.report.MoreHidden
	o.Network, o.Limit = e.report.Network, e.report.Limit
	if p.mode != sandbox.Off && why == Exited {
		scene := sandbox.Scene{Mode: p.mode, Dir: p.cmd.Dir, Protect: p.cmd.Sandbox.Protect, Exit: e.code}
		if p.mode == sandbox.Trial && e.code != 0 {
			o.Unfit = sandbox.Unfit(o.Output.Head + "\n" + o.Output.Tail)
		}
		s := sandbox.Suspect(scene, e.report.Refused, o.Output.Head+"\n"+o.Output.Tail)
		if o.Suspect, o.Remedy = s.Why, s.Remedy; p.mode == sandbox.Trial {
			o.Remedy = "" // what it is allowed is decided after it
		}
	}
	p.outcome = o
	close(p.done)
	p.linger()
}

// await returns the reason for the end, and the exit if that was it.
func (p *Process) await(ctx context.Context) (Ended, exit) {
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
			return TimedOut, exit{}
		case <-done:
			if p.isDetached() { // before the context ended: a select may see the later of two first
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

// end ends the tree and returns how many processes are left in spite of it.
func (p *Process) end() int {
	grace := p.runner.opt.Grace
	p.tree.stop(grace)
	// The keeper gives up on what does not die by itself after a while; this
	// is for a keeper that does not answer any more.
	t := time.NewTimer(grace + patience + time.Second)
	defer t.Stop()
	select {
	case <-p.tree.gone():
	case <-t.C:
		p.tree.abandon()
	}
	return p.tree.remaining()
}

// exitNow is how a command ended that was ended.
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

// linger waits for what the command left behind, and cleans up after it.
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

// Done is closed when the command has ended and its outcome is known.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end.
func (p *Process) Wait() Outcome {
	<-p.done
	return p.outcome
}

// Detach unties the command from its context and its timeout: it runs on in
// the background.
func (p *Process) Detach() { p.detachOnce.Do(func() { close(p.detach) }) }

// Stop begins to end the command and all it started; after it has exited, what
// it left behind. It does not wait.
func (p *Process) Stop() { p.stopOnce.Do(func() { close(p.stopping) }) }

// Read returns output from an offset on, at most about so many bytes; a
// negative offset means the last of it. The last 256 KB can be read.
func (p *Process) Read(offset int64, most int) Piece {
	return p.cap.read(offset, min(orElse(most, readOn), readOn))
}

// Progress is a look at the command as it is now.
func (p *Process) Progress() Progress {
	tail, n, lines, quiet := p.cap.progress(liveTail)
	return Progress{Tail: tail, Bytes: n, Lines: lines, Quiet: quiet, Elapsed: time.Since(p.began)}
}

// live calls Command.Live when there is something new.
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
