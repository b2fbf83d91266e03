package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/adze-dev/adze/discover/internal/stdio"
	"github.com/adze-dev/adze/internal/engine/humanize"
)

const (
	healthy     = 30 * time.Second // after this uptime a failure is no longer consecutive
	maxBackoff  = 30 * time.Second
	maxRestarts = 5               // automatic restarts in a row; after that a call or a reconnect starts it
	patience    = 5 * time.Second // how long a call waits for the next attempt
	debounce    = 200 * time.Millisecond
)

// link is one configured server, running or not. It starts the server on demand, and restarts it when it exits.
//
//	cached or new ── first call, or no manifest ──► attempt ── ok ──► session ── it ends ──► backoff ──► attempt …
type link struct {
	set   *Servers
	alias string
	conf  Server
	kind  transport
	hash  string
	opt   *Options
	log   *stdio.Log
	life  context.Context // ends with Close
	bad   error           // the configuration is invalid; the server is never started

	mu        sync.Mutex
	session   *session
	attempt   *attempt
	manifest  *manifest
	cached    bool // the manifest is from an earlier run
	published bool // the tools of a manifest are in the registry
	failures  int  // in a row
	notBefore time.Time
	err       error // of the last failure
	began     time.Time
	took      time.Duration
	starts    int
	refresh   *time.Timer
	warnings  []string // about its names
	auth      *authority
	closed    bool
}

// attempt is a start in progress.
type attempt struct {
	done chan struct{}
	s    *session
	err  error

	late chan struct{} // closed when it timed out and continues in the background

	// The link's mu guards these.
	began  time.Time      // zero: it waits for its turn
	proc   *stdio.Process // the process; nil: not started yet
	why    error          // reason for late
	waited bool           // a wait for it timed out
}

// progress returns an error that describes the state of the start. The caller holds the link's mu.
func (a *attempt) progress() error {
	err := a.why
	switch {
	case a.began.IsZero():
		return errors.New("waiting to start. Its tools become available when it responds")
	case err == nil:
		so := ""
		if took := time.Since(a.began).Round(time.Second); took > 0 {
			so = " after " + humanize.Wait(took)
		}
		err = errors.New("still starting" + so + ". Its tools become available when it responds")
	}
	if a.proc == nil {
		return err
	}
	return &failedStart{err, a.proc.Tail()}
}

// ErrClosed is the error of calls after Close.
var ErrClosed = errors.New("MCP servers are closed")

// acquire returns the running session, or starts the server.
func (l *link) acquire(ctx context.Context) (*session, error) {
	l.mu.Lock()
	if l.bad != nil || l.closed {
		defer l.mu.Unlock()
		if l.closed {
			return nil, ErrClosed
		}
		return nil, l.bad
	}
	if s := l.session; s != nil {
		l.mu.Unlock()
		return s, nil
	}
	a := l.attempt
	if wait := time.Until(l.notBefore); a == nil && wait > patience {
		defer l.mu.Unlock()
		return nil, fmt.Errorf("failed %d times in a row, next attempt in %s: %w", l.failures, wait.Round(time.Second),
			l.err)
	}
	if a == nil {
		a = l.begin()
	}
	l.mu.Unlock()
	return l.await(ctx, a)
}

// await waits until a start succeeds, fails or times out.
func (l *link) await(ctx context.Context, a *attempt) (*session, error) {
	select {
	case <-a.done:
		return a.s, a.err
	default:
	}
	select {
	case <-a.done:
		return a.s, a.err
	case <-a.late:
		return nil, l.progress(a)
	case <-l.life.Done():
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// progress describes the state of a start.
func (l *link) progress(a *attempt) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return a.progress()
}

// waitTimedOut records that a wait for a start timed out.
func (l *link) waitTimedOut(a *attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.waited = true
}

// overdue ends all waits for a start that continues.
func (l *link) overdue(a *attempt, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.why != nil {
		return // called twice
	}
	a.why = why
	close(a.late)
	l.log.Printf("%v", why)
}

// startTimeout returns how long the server may take to start.
func (l *link) startTimeout() time.Duration { return l.conf.startTimeout(l.opt.start()) }

// settled waits for a start in progress, which can't use a login that came later.
func (l *link) settled(ctx context.Context) error {
	l.mu.Lock()
	a := l.attempt
	l.mu.Unlock()
	if a == nil {
		return nil
	}
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin starts an attempt, after the backoff. The caller holds mu.
func (l *link) begin() *attempt {
	a := &attempt{done: make(chan struct{}), late: make(chan struct{})}
	l.attempt = a
	wait := time.Until(l.notBefore)
	l.set.work.Go(func() {
		defer close(a.done)
		timer := time.NewTimer(max(wait, 0))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.life.Done():
			a.err = ErrClosed
			return
		}
		if l.kind == launched {
			release, err := l.set.slots.take(l.life)
			if err != nil {
				a.err = ErrClosed
				return
			}
			defer release()
		}
		began := time.Now() // waiting for a slot doesn't count
		a.s, a.err = l.start(a)
		l.noteSlowStart(a, time.Since(began))
		l.settle(a)
	})
	return a
}

// start connects to the server and reads its lists, within the start timeout.
func (l *link) start(a *attempt) (*session, error) {
	l.mu.Lock()
	l.began = time.Now()
	a.began = l.began
	l.starts++
	l.mu.Unlock()
	s, err := l.connect(a)
	if err != nil {
		return nil, err
	}
	bound := l.startTimeout()
	select {
	case <-a.late: // no call waits for it
		bound = max(bound, l.opt.start())
	default:
	}
	ctx, cancel := context.WithTimeout(l.life, bound)
	defer cancel()
	m, err := s.list(ctx)
	if err != nil {
		if ctx.Err() != nil && l.life.Err() == nil {
			err = fmt.Errorf("the server responded, but didn't list its tools within %s", humanize.Wait(bound))
		}
		fate := ""
		if s.proc != nil {
			fate = s.proc.Fate()
		}
		s.close()
		return nil, s.startError(withFate(err, fate))
	}
	s.listen(ctx)
	l.adopt(s, m)
	return s, nil
}

// settle records the result of an attempt.
func (l *link) settle(a *attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempt = nil
	l.took = time.Since(l.began)
	if errors.Is(a.err, ErrItself) {
		l.bad = a.err // don't try again
	}
	if a.err != nil {
		l.failed(a.err)
		return
	}
	if l.closed {
		a.s.close()
		a.s, a.err = nil, ErrClosed
		return
	}
	l.session = a.s
	l.log.Printf("started in %s", l.took.Round(time.Millisecond))
	l.set.work.Go(func() { l.watch(a.s) })
}

// failed records a failure. The caller holds mu.
func (l *link) failed(err error) {
	l.failures++
	l.err = err
	l.notBefore = time.Now().Add(backoff(l.failures))
	l.log.Printf("failed: %v", err)
}

// backoff returns how long to wait after consecutive failures. The first one may be accidental.
func backoff(failures int) time.Duration {
	if failures <= 1 {
		return 0
	}
	return min(250*time.Millisecond<<min(failures-2, 10), maxBackoff)
}

// watch waits for the end of a session and restarts the server, unless it has failed too often.
func (l *link) watch(s *session) {
	<-s.dead
	fate := s.fate()
	s.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != s {
		return // it was closed on purpose
	}
	l.session = nil
	if l.closed {
		return
	}
	if time.Since(l.began) > healthy {
		l.failures = 0
	}
	l.failed(errors.New(cmp.Or(fate, "connection lost")))
	if l.attempt == nil && l.failures <= maxRestarts {
		l.begin()
	}
}

// drop discards a broken session, so that the next call starts a new one.
func (l *link) drop(s *session, err error) {
	l.mu.Lock()
	if l.session == s {
		l.session = nil
		if time.Since(l.began) > healthy {
			l.failures = 0
		}
		l.failed(err)
	}
	l.mu.Unlock()
	s.close()
}

// changed is called when the server reports that its lists have changed, possibly many times at once.
func (l *link) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if l.refresh == nil {
		l.refresh = time.AfterFunc(debounce, l.relist)
		return
	}
	l.refresh.Reset(debounce)
}

// relist reads the lists of the running server again.
func (l *link) relist() {
	l.mu.Lock()
	s := l.session
	if l.closed || s == nil {
		l.mu.Unlock()
		return
	}
	l.set.work.Add(1)
	l.mu.Unlock()
	defer l.set.work.Done()
	ctx, cancel := context.WithTimeout(l.life, l.startTimeout())
	defer cancel()
	m, err := s.list(ctx)
	if err != nil {
		l.log.Printf("its lists changed, but reading them failed: %v", err)
		return
	}
	l.adopt(s, m)
}

// adopt replaces the manifest.
func (l *link) adopt(s *session, m *manifest) {
	known := map[string]string{}
	for _, t := range m.Tools {
		known[t.Name] = t.print(l.conf.Identity())
	}
	s.mu.Lock()
	s.known = known
	s.mu.Unlock()
	l.mu.Lock()
	l.manifest, l.cached = m, false
	l.mu.Unlock()
	if err := m.save(l.state(), l.cacheName()); err != nil {
		l.log.Printf("save its manifest: %v", err)
	}
	l.set.publish(l)
}

// close stops the server and waits for its exit, with a limit.
func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	s := l.session
	l.session = nil
	if l.refresh != nil {
		l.refresh.Stop()
	}
	l.mu.Unlock()
	if s != nil {
		s.close()
		s.gone(time.Second)
	}
}
