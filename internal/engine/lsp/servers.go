// Package lsp is a client for language servers: it starts them when they are needed, and asks them about code and for
// diagnostics.
//
//	servers := lsp.New(lsp.Options{Servers: installed, Root: dir, Start: start, Hide: hide})
//	defer servers.Close()
//	places, err := servers.References(ctx, lsp.Place{Path: path, Line: 12, Name: "Open"})
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
	"time"
)

// Options configure the servers of a session.
type Options struct {
	Servers []Server // the installed ones for the languages of the project
	Root    string
	Start   func(s Server) (Process, error)
	// Hide reports whether a file must not be read: servers don't get it, and answers don't have it.
	Hide func(path string) bool
	Idle time.Duration // after which a server is stopped; 0: ten minutes
}

// The limits of starts.
const (
	maxStarts  = 3 // the first one, and two restarts after failures
	startTime  = time.Minute
	warmTime   = 5 * time.Minute
	answerTime = time.Minute
)

// Servers are the language servers of a session.
type Servers struct {
	options Options
	all     []*running
	ctx     context.Context // of the session
	end     context.CancelFunc
	mu      sync.Mutex // while work begins
	work    sync.WaitGroup
}

// New returns the servers. None is started.
func New(o Options) *Servers {
	if o.Idle <= 0 {
		o.Idle = 10 * time.Minute
	}
	s := &Servers{options: o}
	s.ctx, s.end = context.WithCancel(context.Background())
	for _, one := range o.Servers {
		s.all = append(s.all, &running{Server: one, owner: s, changed: make(chan struct{})})
	}
	return s
}

// running is a server, whether it runs or not.
type running struct {
	Server
	owner *Servers

	mu      sync.Mutex
	client  *client
	ready   bool // it has answered the first question about code
	since   time.Time
	failed  error // why it ended or didn't start
	starts  int   // that failed, or ended in a failure
	idle    *time.Timer
	queue   []Change // to be compared
	files   []string // to be opened
	working bool
	log     string        // of the last process
	changed chan struct{} // closed when any of this changes
}

// tell wakes those who wait for a change of the state. The caller holds the lock.
func (r *running) tell() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// For reports whether there is a server for a file.
func (s *Servers) For(path string) bool { return s.of(path) != nil }

func (s *Servers) of(path string) *running {
	if s == nil {
		return nil
	}
	for _, r := range s.all {
		if r.language(path) != "" {
			return r
		}
	}
	return nil
}

// StartingError means that a server isn't ready yet.
type StartingError struct {
	Server string
	For    time.Duration
}

func (e *StartingError) Error() string {
	return fmt.Sprintf("%s is starting (%d s so far)", e.Server, int(e.For.Seconds()))
}

// Touch is called for a file that is read: its server starts, and opens it. It doesn't wait.
func (s *Servers) Touch(path string) {
	if r := s.of(path); r != nil && !s.options.Hide(path) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.files) < maxOpen && !slices.Contains(r.files, path) {
			r.files = append(r.files, path)
		}
		r.begin()
	}
}

// Changed is called after files changed on disk. It doesn't wait: News has the result.
func (s *Servers) Changed(changes []Change) {
	if s == nil {
		return
	}
	for _, r := range s.all {
		own := slices.ContainsFunc(changes, func(c Change) bool { return r.language(c.Path) != "" })
		r.mu.Lock()
		if (own || r.client != nil) && r.starts < maxStarts { // other files matter too, such as go.mod
			r.queue = mergeChanges(r.queue, changes)
			r.begin()
		}
		r.mu.Unlock()
	}
}

// mergeChanges adds changes to those that weren't compared yet: what counts is the text before the first one.
func mergeChanges(queue, more []Change) []Change {
	for _, c := range more {
		if !slices.ContainsFunc(queue, func(q Change) bool { return q.Path == c.Path }) {
			queue = append(queue, c)
		}
	}
	return queue
}

// Ready reports whether a server that runs answers quickly: whether News may wait for one.
func (s *Servers) Ready() bool {
	return s != nil && slices.ContainsFunc(s.all, func(r *running) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.ready
	})
}

// News returns how diagnostics changed. It waits for servers that are ready until the context ends. What isn't known by
// then is in later News, and nothing is in it that isn't current.
func (s *Servers) News(ctx context.Context) (all News) {
	if s == nil {
		return News{}
	}
	for _, r := range s.all {
		c := r.settled(ctx)
		if c == nil || c.enter(ctx) != nil {
			continue
		}
		if !r.busy() {
			n := c.compared.news()
			all.New, all.Fixed = append(all.New, n.New...), append(all.Fixed, n.Fixed...)
		}
		c.leave()
	}
	return all
}

func (r *running) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.working || len(r.queue) > 0
}

// settled waits until nothing is to be compared; nil: there is something.
func (r *running) settled(ctx context.Context) *client {
	for {
		r.mu.Lock()
		c, working, ready, changed := r.client, r.working || len(r.queue) > 0, r.ready, r.changed
		r.mu.Unlock()
		switch {
		case c == nil || !ready:
			return nil
		case !working:
			return c
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// begin starts to work off what is to be done. The caller holds the lock.
func (r *running) begin() {
	if !r.working && r.starts < maxStarts && r.owner.spawn(r.run) {
		r.working = true
		if r.client == nil {
			r.failed, r.since = nil, time.Now()
		}
	}
}

// spawn runs a function in the background, unless the session ends.
func (s *Servers) spawn(run func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.work.Go(run)
	return true
}

// run starts the server if needed, and does what is to be done.
func (r *running) run() {
	ctx := r.owner.ctx
	for {
		c, err := r.start(ctx)
		r.mu.Lock()
		files, changes := r.files, r.queue
		r.files, r.queue = nil, nil
		if err != nil || len(files)+len(changes) == 0 && r.ready {
			r.working = false
			r.tell()
			r.mu.Unlock()
			return
		}
		wait := diagnoseFor
		if !r.ready {
			wait = warmTime
		}
		r.mu.Unlock()
		r.do(ctx, c, files, changes, wait)
	}
}

// do opens files and compares changes.
func (r *running) do(ctx context.Context, c *client, files []string, changes []Change, wait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if c.enter(ctx) != nil {
		return
	}
	defer c.leave()
	var err error
	if len(changes) > 0 {
		err = c.compare(ctx, changes)
	}
	for _, path := range files {
		if err == nil {
			err = c.look(ctx, path)
		}
	}
	if !c.pulls() && err == nil && offered(c.can.WorkspaceSymbols) {
		var none []symbol
		_ = c.call(ctx, "workspace/symbol", map[string]string{"query": "adze"}, &none) // answered when it has loaded
	}
	r.mu.Lock()
	r.ready = true
	r.tell()
	r.mu.Unlock()
}

// start returns the conversation with the server, which is started if it doesn't run.
func (r *running) start(ctx context.Context) (*client, error) {
	r.mu.Lock()
	c := r.client
	r.mu.Unlock()
	if c != nil {
		if why := c.process.Outdated(); why != "" {
			r.stop(c, nil)
			c = nil
		} else {
			r.used()
			return c, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	p, err := r.owner.options.Start(r.Server)
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, startTime)
		defer cancel()
		if c, err = dial(limited, r.Server, p, r.owner.options); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				err = errors.New("it didn't answer the initialization")
			}
			p.Stop()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failed, r.starts = err, r.starts+1
		if p != nil {
			r.log = p.Log()
		}
		return nil, err
	}
	r.client, r.ready, r.failed = c, false, nil
	r.idle = time.AfterFunc(r.owner.options.Idle, func() { r.rest(c) })
	r.owner.work.Go(func() { // this runs in work too, so it can't be waited for yet
		select {
		case <-c.done:
			r.stop(c, c.reason())
		case <-ctx.Done():
			r.stop(c, nil)
		}
	})
	return c, nil
}

// used keeps the server from being stopped as idle.
func (r *running) used() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.idle != nil {
		r.idle.Reset(r.owner.options.Idle)
	}
}

// rest stops a process that was idle for long enough.
func (r *running) rest(c *client) {
	r.mu.Lock()
	if busy := r.working || len(c.turn) == 0; busy {
		r.idle.Reset(r.owner.options.Idle)
		r.mu.Unlock()
		return
	}
	r.mu.Unlock()
	r.stop(c, nil)
}

// errStopped ends the conversation with a server that was stopped on purpose.
var errStopped = errors.New("it was stopped")

// stop stops a process. why is its failure; nil: it is stopped on purpose.
func (r *running) stop(c *client, why error) {
	c.close(errStopped)
	c.process.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != c {
		return
	}
	r.client, r.ready, r.log = nil, false, c.process.Log()
	r.idle.Stop()
	r.tell()
	if why != nil && !errors.Is(why, errStopped) {
		r.failed, r.starts = why, r.starts+1
	}
}

// get returns the conversation with the server of a file. If the server isn't ready it starts, and the error is a
// *StartingError: unless wait is set.
func (r *running) get(ctx context.Context, path string, wait bool) (*client, error) {
	if path != "" {
		r.owner.Touch(path)
	} else {
		r.mu.Lock()
		r.begin()
		r.mu.Unlock()
	}
	for {
		r.mu.Lock()
		c, ready, failed, starts, since := r.client, r.ready, r.failed, r.starts, r.since
		log, changed := r.log, r.changed
		r.mu.Unlock()
		switch {
		case c != nil && ready:
			return c, nil
		case failed != nil && c == nil || starts >= maxStarts:
			return nil, failure(r.Name, failed, log)
		case !wait:
			return nil, &StartingError{r.Name, time.Since(since)}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func failure(name string, why error, log string) error {
	if log = cut(log, 300); log != "" {
		return fmt.Errorf("%s doesn't run: %w. It printed: %s", name, why, log)
	}
	return fmt.Errorf("%s doesn't run: %w", name, why)
}

// State is the state of a server, for users.
type State struct {
	Name, Program string
	State         string // "not started", "starting", "running", "stopped" or "failed"
	Why           string // it failed
	For           time.Duration
	Log           string // the end of what it printed
}

// States returns the state of all servers.
func (s *Servers) States() (out []State) {
	if s == nil {
		return nil
	}
	for _, r := range s.all {
		r.mu.Lock()
		one := State{Name: r.Name, Program: r.Program, State: "not started", Log: r.log}
		switch {
		case r.client != nil && r.ready:
			one.State = "running"
		case r.client != nil || r.working:
			one.State = "starting"
		case r.failed != nil:
			one.State, one.Why = "failed", r.failed.Error()
		case !r.since.IsZero():
			one.State = "stopped"
		}
		if r.client != nil {
			one.Log, one.For = r.client.process.Log(), time.Since(r.since)
		}
		r.mu.Unlock()
		out = append(out, one)
	}
	return out
}

// Close stops all servers.
func (s *Servers) Close() {
	if s != nil {
		s.mu.Lock()
		s.end()
		s.mu.Unlock()
		s.work.Wait()
	}
}
