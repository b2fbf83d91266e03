// Package lsp is a client for language servers: it starts them when they are needed, and asks them about code and for
// diagnostics.
//
//	servers := lsp.New(lsp.Options{Servers: installed, Root: dir, Start: start, Hide: hide})
//	defer servers.Close()
//	answer, err := servers.Ask(ctx, lsp.Question{Operation: lsp.References, Path: path, Line: 12, Name: "Open"})
//
// Servers are programs that read a project that may be hostile, so callers start them in a sandbox, and nothing that
// they ask is done: no edits, no commands. What they answer is data from outside, with limits on everything.
package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure the servers of a session.
type Options struct {
	Servers []Server // the installed ones for the languages of the project
	Root    string
	Start   func(s Server) (Process, error)
	// Hide reports whether a file must not be read: servers don't get it, and answers don't have it.
	Hide func(path string) bool
}

// The limits of servers.
const (
	maxFailures = 3    // of the first start, and two restarts
	maxJobs     = 1000 // that wait, each a change or a file that was read
	startTime   = time.Minute
	warmTime    = 5 * time.Minute
	answerTime  = 2 * time.Minute // a rename in a large project takes long the first time
	idleTime    = 10 * time.Minute
)

// Servers are the language servers of a session.
type Servers struct {
	options Options
	all     []*running
	ctx     context.Context // of the session
	end     context.CancelFunc
	work    sync.WaitGroup
}

// New returns the servers. None is started.
func New(o Options) *Servers {
	s := &Servers{options: o}
	s.ctx, s.end = context.WithCancel(context.Background())
	for _, one := range o.Servers {
		r := &running{
			Server: one, Servers: s, jobs: make(chan func(), maxJobs), idle: time.NewTimer(idleTime),
			state: Status{Server: one, State: NotStarted},
		}
		s.all = append(s.all, r)
		s.work.Go(r.run)
	}
	return s
}

// Close stops all servers.
func (s *Servers) Close() {
	if s != nil {
		s.end()
		s.work.Wait()
	}
}

// running is a server, whether it runs or not. One goroutine talks with it.
type running struct {
	Server
	*Servers
	jobs     chan func()
	open     atomic.Int32 // jobs that aren't done
	failures int
	idle     *time.Timer // since it was used

	mu     sync.Mutex // of what others use too
	client *client    // nil: it doesn't run
	state  Status
}

// The states of a server.
const (
	NotStarted = "not started"
	Starting   = "starting"
	Running    = "running"
	Stopped    = "stopped"
	Failed     = "failed"
)

// Status is the state of a server, for users.
type Status struct {
	Server
	State string
	Why   string // it failed
	Log   string // the end of what it printed
}

// States returns the state of all servers.
func (s *Servers) States() (out []Status) {
	if s == nil {
		return nil
	}
	for _, r := range s.all {
		out = append(out, r.get())
	}
	return out
}

func (r *running) get() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		r.state.Log, _ = r.client.messages()
	}
	return r.state
}

// set changes the state. why is a failure.
func (r *running) set(c *client, state string, why error) {
	r.get() // what it printed
	r.mu.Lock()
	defer r.mu.Unlock()
	r.client, r.state.State, r.state.Why = c, state, ""
	if why != nil {
		r.failures++
		r.state.State, r.state.Why = Failed, why.Error()
	}
}

func (s *Servers) of(path string) *running {
	if s != nil {
		for _, r := range s.all {
			if r.language(path) != "" {
				return r
			}
		}
	}
	return nil
}

// Touch is called for a file that is read: its server starts, and opens it. It doesn't wait.
func (s *Servers) Touch(path string) {
	if r := s.of(path); r != nil && !s.options.Hide(path) {
		was := modified(path)
		r.follow(func(ctx context.Context, c *client) {
			if modified(path).Equal(was) { // otherwise its diagnostics before the change aren't known
				c.look(ctx, path)
			}
		})
	}
}

// Changed is called after files changed on disk. It doesn't wait: News has the result.
func (s *Servers) Changed(changes []Change) {
	if s == nil || len(changes) == 0 {
		return
	}
	for _, r := range s.all {
		own := slices.ContainsFunc(changes, func(c Change) bool { return r.language(c.Path) != "" })
		if state := r.get().State; own || state == Running || state == Starting { // go.mod matters too
			r.follow(func(ctx context.Context, c *client) { c.compare(ctx, changes) })
		}
	}
}

// do has the server's goroutine run a job, unless too many wait. It doesn't wait.
func (r *running) do(job func()) bool {
	r.open.Add(1)
	select {
	case r.jobs <- job:
		return true
	default:
		r.open.Add(-1)
		return false
	}
}

// run talks with the server until the session ends.
func (r *running) run() {
	for {
		var ended <-chan struct{}
		var idle <-chan time.Time
		if r.client != nil {
			ended, idle = r.client.ctx.Done(), r.idle.C
		}
		select {
		case job := <-r.jobs:
			job()
			r.open.Add(-1)
		case <-ended:
			r.stop(context.Cause(r.client.ctx))
		case <-idle:
			r.stop(nil)
		case <-r.ctx.Done():
			r.stop(nil)
			return
		}
	}
}

// follow has the server follow what happened to files. It doesn't wait.
func (r *running) follow(what func(context.Context, *client)) {
	r.do(func() { _ = r.warm(what) })
}

// warm starts the server if it doesn't run, and waits until it has read the project.
func (r *running) warm(what func(context.Context, *client)) error {
	if !r.alive() {
		if err := r.start(); err != nil {
			return err
		}
	}
	limit, warm := diagnoseFor, r.state.State == Running
	if !warm {
		limit = warmTime
	}
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	if what(ctx, r.client); !warm {
		r.client.warmUp(ctx)
		r.set(r.client, Running, nil)
	}
	return nil
}

// start starts the server, unless it failed too often.
func (r *running) start() error {
	if r.failures >= maxFailures {
		return r.unready()
	}
	r.set(nil, Starting, nil)
	p, err := r.options.Start(r.Server)
	if err == nil {
		r.set(newClient(r.ctx, r.Server, p, r.options), Starting, nil)
		err = r.client.initialize()
	}
	if err != nil {
		r.stop(err)
		return r.unready()
	}
	return nil
}

// alive is called when the server is used, and reports whether it runs. One that exited, or may not be used any longer,
// is stopped.
func (r *running) alive() bool {
	r.idle.Reset(idleTime)
	if c := r.client; c != nil && (c.ctx.Err() != nil || c.process.Outdated()) {
		r.stop(context.Cause(c.ctx))
	}
	return r.client != nil
}

// stop stops the process. why is its failure; nil: it is stopped on purpose.
func (r *running) stop(why error) {
	if c := r.client; c != nil {
		c.end(nil)
		c.process.Stop()
	}
	r.set(nil, Stopped, why)
}

// ErrStarting means that a server isn't ready yet.
var ErrStarting = errors.New("is starting")

// unready is why there is no answer.
func (r *running) unready() error {
	now := r.get()
	if now.State != Failed {
		return fmt.Errorf("%s %w", r.Name, ErrStarting)
	}
	if now.Log != "" {
		now.Why += ". It printed: " + now.Log[max(0, len(now.Log)-300):]
	}
	return fmt.Errorf("%s doesn't run: %s", r.Name, now.Why)
}

// Ask asks the server of a file or, without one, all servers.
func (s *Servers) Ask(ctx context.Context, q Question) (all Answer, err error) {
	if r := s.of(q.Path); r != nil {
		return r.ask(ctx, q)
	}
	if q.Path != "" || s == nil {
		return all, errors.New("no language server is installed for such files; search for text instead")
	}
	for _, r := range s.all {
		a, err := r.ask(ctx, q)
		if err != nil {
			all.Missing = append(all.Missing, err.Error())
		}
		all.Found, all.Hidden = append(all.Found, a.Found...), all.Hidden+a.Hidden
		all.Missing = append(all.Missing, a.Missing...)
	}
	return all, ctx.Err()
}

// ask returns an error at once if the server isn't ready, unless the question waits for it.
func (r *running) ask(ctx context.Context, q Question) (Answer, error) {
	if !q.Wait && r.get().State != Running {
		r.follow(func(ctx context.Context, c *client) { c.look(ctx, q.Path) })
		return Answer{}, r.unready()
	}
	var a Answer // the job's, until it is done
	if err := r.await(ctx, func() {
		switch {
		case q.Wait:
			a.err = r.warm(func(context.Context, *client) {})
		case !r.alive():
			a.err = r.unready()
		}
		if a.err == nil {
			a = r.client.ask(ctx, q)
		}
	}, func() {}); err != nil {
		return Answer{}, err
	}
	return a, a.err
}

// await has the server's goroutine run a job, and waits for it until the context ends. What is taken from the job is
// noted by its goroutine too.
func (r *running) await(ctx context.Context, job, taken func()) error {
	done := make(chan struct{})
	if !r.do(func() {
		job()
		select {
		case done <- struct{}{}:
			taken()
		case <-ctx.Done():
		case <-r.ctx.Done():
		}
	}) {
		return fmt.Errorf("%s has too much to do", r.Name)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.ctx.Done():
		return errors.New("the session has ended")
	}
}

// News returns how diagnostics changed. With wait, it waits until those after all changes are known, or the context
// ends. What isn't known by then is in later News, and nothing is in it that isn't current.
func (s *Servers) News(ctx context.Context, wait bool) (all News) {
	if s == nil {
		return News{}
	}
	for _, r := range s.all {
		if r.open.Load() > 0 && !(wait && r.get().State == Running) {
			continue
		}
		var n News
		var reported func()
		if r.await(ctx, func() { n, reported = r.client.unreported() }, func() { reported() }) == nil {
			all.New, all.Fixed = append(all.New, n.New...), append(all.Fixed, n.Fixed...)
		}
	}
	return all
}
