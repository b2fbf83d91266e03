package tool

import (
	"context"
	"slices"
	"sync"
	"time"
)

// scheduler orders calls. An executor shares it with the executors of its subagents.
//
// It has no deadlocks. A call waits for earlier calls of its own batch and for running calls. A running call waits for
// none, except that after a question of its own it waits for a slot, and only running calls without a question have
// slots.
type scheduler struct {
	mu      sync.Mutex
	live    map[*scheduledCall]bool // not done yet
	running map[*scheduledCall]bool // leaf calls whose Run has begun and has not returned
	asking  map[*waiter]bool        // open questions
	waiting []*ticket               // open questions that wait for their turn, in order of arrival
	asked   *ticket                 // the one that has it
	slots   chan struct{}
	out     *outbox
}

// waiter wakes an open question of a call.
type waiter struct {
	e *scheduledCall
	c chan struct{}
}

func (p *waiter) wake() {
	select {
	case p.c <- struct{}{}:
	default:
	}
}

func newScheduler(limit int, observe func(Event)) *scheduler {
	return &scheduler{
		live:    map[*scheduledCall]bool{},
		running: map[*scheduledCall]bool{},
		asking:  map[*waiter]bool{},
		slots:   make(chan struct{}, limit),
		out:     newOutbox(observe),
	}
}

// scheduledCall is one call in an executor.
type scheduledCall struct {
	x     *Executor
	batch *Batch
	index int // in the batch
	call  Call
	tool  Tool
	decl  Declaration
	hook  hooked   // the result of the hooks
	notes []string // for the model, in addition to those of the invocation

	repairs []string // notes on the call itself, kept when the user edits it

	trials  int           // how often it was tried
	untried string        // why it isn't tried, or not tried again
	late    error         // the same, if that is because files changed meanwhile
	early   bool          // it ran ahead of earlier trials
	direct  bool          // the user wants it to run instead, or nothing can be tried here
	tried   time.Duration // how long the last trial took, or the run ahead of others
	ran     bool          // Run was called, or would have been

	// Guarded by scheduler.mu.
	access      []Access   // the known access; initially the maximum of its kind
	settled     bool       // access comes from a Prepare that is still valid; if not, others see the maximum
	preparing   bool       // a Prepare is running,
	invalidated [][]Access // and these writers have ended since it started
	stale       bool       // a writer of what it read has ended since its Prepare started
	admitted    bool       // judged and allowed
	trying      bool       // its Trial is running: as a reader of everything
	// it was tried: it has read everything, and access is what keeping its effects would write
	reader  bool
	ahead   bool          // it reads while earlier calls are tried
	over    int           // earlier calls of the batch that had run when it was prepared
	hasty   bool          // it may be tried, or read, before earlier trials of the batch are settled
	abort   func()        // stops its Trial, or what it reads ahead
	refused bool          // the user denied it
	done    bool          //
	hasSlot bool          //
	left    bool          // it has returned, or drives other calls: it takes no slot
	changed chan struct{} // closed, and replaced, when any of the above changes
	outcome Outcome
}

// enter adds a call after all calls of its batch.
func (c *scheduler) enter(b *Batch, e *scheduledCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.index = len(b.entries)
	b.entries = append(b.entries, e)
	e.access = e.decl.maxAccess()
	e.changed = make(chan struct{})
	c.live[e] = true
}

func (c *scheduler) signal(e *scheduledCall) {
	close(e.changed)
	e.changed = make(chan struct{})
	c.callNext()
}

// prepare marks the start of a Prepare.
func (c *scheduler) prepare(e *scheduledCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.preparing, e.invalidated, e.stale, e.admitted, e.reader, e.hasty = true, nil, false, false, false, false
	e.over = e.overBefore()
}

// prepared records the access of a call. hasty: it may be tried, or read, before earlier trials of the batch are
// settled.
func (c *scheduler) prepared(e *scheduledCall, access []Access, hasty bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.access, e.preparing, e.settled, e.hasty = access, false, true, hasty
	for _, w := range e.invalidated {
		c.invalidate(e, w, e.access)
	}
	e.invalidated = nil
	c.signal(e)
}

// invalidate records that a call with access w has ended and may have changed what e used.
func (c *scheduler) invalidate(e *scheduledCall, w, used []Access) {
	if e.preparing {
		e.invalidated = append(e.invalidated, w)
		return
	}
	if !disturbs(w, used) {
		return
	}
	e.stale = true
	// A written file changes the content of a path; a command may also change what a path refers to.
	for _, a := range w {
		if a.Verb != Writes && a.Changes() {
			e.settled = false
		}
	}
	for p := range c.asking {
		if p.e == e {
			p.wake()
		}
	}
}

// seen returns the access that other calls take into account.
func (e *scheduledCall) seen() []Access {
	if e.settled {
		return e.uses() // a tried call may be tried again: later writers wait
	}
	return e.decl.maxAccess()
}

// admit records that the call may run, and its granted access if that is less than it declared.
func (c *scheduler) admit(e *scheduledCall, grant []Access) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.admitted = true
	if grant != nil {
		e.access = grant
	}
	c.abortLater(e)
	c.signal(e)
}

// refuse records that the user denied the call.
func (c *scheduler) refuse(e *scheduledCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.refused = true
}

// awaitQuestion waits until the call can be judged: earlier writers of what it uses are done, and earlier readers of
// what it writes have been judged.
func (c *scheduler) awaitQuestion(ctx context.Context, e *scheduledCall) error {
	return c.await(ctx, func() *scheduledCall {
		return e.lastEarlier(func(f *scheduledCall) bool {
			if e.hasty && f.unsettled() {
				return false
			}
			return disturbs(f.seen(), e.uses()) || !f.admitted && disturbs(e.access, f.seen())
		})
	}, nil)
}

// awaitTurn waits until the call can run and marks it running, unless what it read has changed meanwhile.
func (c *scheduler) awaitTurn(ctx context.Context, e *scheduledCall) (ok bool, err error) {
	err = c.await(ctx, func() *scheduledCall {
		if f := e.lastEarlier(func(f *scheduledCall) bool { return conflict(f.seen(), e.uses()) }); f != nil {
			return f
		}
		return c.firstRunning(func(f *scheduledCall) bool { return f != e && conflict(f.runs(), e.access) })
	}, func() {
		ok = !e.stale
		if ok {
			c.running[e] = true
		}
	})
	return ok, err
}

// awaitQuiet waits until no earlier or running call can change what e depends on, and reports whether none has since
// its Prepare: its error may be temporary. Earlier calls include those that only read: an edit requires that the file
// was read.
func (c *scheduler) awaitQuiet(ctx context.Context, e *scheduledCall) (ok bool, err error) {
	err = c.await(ctx, func() *scheduledCall {
		if f := e.lastEarlier(func(f *scheduledCall) bool { return conflict(f.seen(), e.uses()) }); f != nil {
			return f
		}
		return c.firstRunning(func(f *scheduledCall) bool { return f != e && disturbs(f.runs(), e.access) })
	}, func() { ok = !e.stale && e.over == e.overBefore() })
	return ok, err
}

// overBefore returns how many earlier calls of the batch have run.
func (e *scheduledCall) overBefore() (n int) {
	for _, f := range e.batch.entries[:e.index] {
		if f.done || f.left {
			n++
		}
	}
	return n
}

// await waits until no call blocks, then calls last while holding mu.
func (c *scheduler) await(ctx context.Context, blocker func() *scheduledCall, last func()) error {
	for {
		c.mu.Lock()
		f := blocker()
		if f == nil {
			err := ctx.Err()
			if err == nil && last != nil {
				last()
			}
			c.mu.Unlock()
			return err
		}
		changed := f.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lastEarlier finds the last earlier call of the batch that is not done and blocks. The others are usually done before
// it is, so one wait suffices.
func (e *scheduledCall) lastEarlier(blocks func(*scheduledCall) bool) *scheduledCall {
	for i := e.index - 1; i >= 0; i-- {
		if f := e.batch.entries[i]; !f.done && blocks(f) {
			return f
		}
	}
	return nil
}

func (c *scheduler) firstRunning(blocks func(*scheduledCall) bool) *scheduledCall {
	for f := range c.running {
		if blocks(f) {
			return f
		}
	}
	return nil
}

// deniedBefore finds an earlier call of the batch that the user denied and that this one depends on.
func (c *scheduler) deniedBefore(e *scheduledCall) *scheduledCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !changes(e.access) {
		return nil
	}
	for _, f := range e.batch.entries[:e.index] {
		if f.refused && conflict(f.access, e.access) {
			return f
		}
	}
	return nil
}

// takeSlot waits for one of the slots for running calls.
func (c *scheduler) takeSlot(ctx context.Context, e *scheduledCall) error {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.left { // while it asked
		<-c.slots
		return nil
	}
	e.hasSlot = true
	return nil
}

// giveSlot releases the slot of e, and reports whether it had one.
func (c *scheduler) giveSlot(e *scheduledCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.freeSlot(e)
}

func (c *scheduler) freeSlot(e *scheduledCall) bool {
	had := e.hasSlot
	if had {
		e.hasSlot = false
		<-c.slots
	}
	return had
}

// leave removes the call from the running ones.
func (c *scheduler) leave(e *scheduledCall) {
	e.left = true
	c.freeSlot(e)
	delete(c.running, e)
}

// delegate makes a running call a driver of other calls: it takes no slot and blocks no call.
func (c *scheduler) delegate(e *scheduledCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(e)
	c.signal(e)
}

// returned records that Run has returned and invalidates calls that read what it may have changed.
func (c *scheduler) returned(e *scheduledCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(e)
	if orders(e.access) {
		for f := range c.live {
			if f == e || c.running[f] && !f.trying && !f.ahead {
				continue
			}
			used := f.access
			if e.batch == f.batch && e.index < f.index {
				used = f.uses()
			}
			c.invalidate(f, e.access, used)
		}
	}
	c.signal(e)
}

// finish removes the call from the order.
func (c *scheduler) finish(e *scheduledCall, o Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.outcome, e.done = o, true
	delete(c.live, e)
	c.signal(e)
}

// rejudge wakes every open question.
func (c *scheduler) rejudge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.asking {
		p.wake()
	}
}

// open registers a question to be woken when something changes that may answer it, until close is called.
func (c *scheduler) open(e *scheduledCall) (woken <-chan struct{}, close func()) {
	p := &waiter{e, make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking[p] = true
	return p.c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asking, p)
	}
}

func (c *scheduler) isStale(e *scheduledCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return e.stale
}

// everything is the access of a trial.
var everything = Access{Reads, "*"}

// uses returns what the outcome of a call depends on. A tried call has read everything.
func (e *scheduledCall) uses() []Access {
	if e.reader {
		return append(slices.Clip(e.access), everything)
	}
	return e.access
}

// runs returns the access of a running call.
func (e *scheduledCall) runs() []Access {
	if e.trying {
		return []Access{everything}
	}
	return e.access
}

// unsettled reports whether the call is being tried, or was tried and its effects aren't approved yet.
func (e *scheduledCall) unsettled() bool { return e.trying || e.reader && !e.admitted }

// calm makes a hasty call wait for earlier trials, and reports whether it was hasty.
func (c *scheduler) calm(e *scheduledCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := e.hasty
	e.hasty = false
	return was
}

// awaitTrial waits until no call writes what the trial would read, and marks it running, unless what Prepare read has
// changed meanwhile. The first trial doesn't wait for earlier calls that are tried too: if these keep something, it is
// stopped and repeated.
func (c *scheduler) awaitTrial(ctx context.Context, e *scheduledCall, abort func()) (ok bool, err error) {
	all := []Access{everything}
	err = c.await(ctx, func() *scheduledCall {
		if f := e.lastEarlier(func(f *scheduledCall) bool {
			return !(e.hasty && f.unsettled()) &&
				disturbs(f.seen(), all)
		}); f != nil {
			return f
		}
		return c.firstRunning(func(f *scheduledCall) bool { return f != e && disturbs(f.runs(), all) })
	}, func() {
		if ok = !e.stale; ok {
			c.running[e], e.trying, e.abort = true, true, abort
			c.signal(e)
		}
	})
	return ok, err
}

// trialEnded records that a trial has ended without effects that could be kept.
func (c *scheduler) trialEnded(e *scheduledCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaveTrial(e)
	c.signal(e)
}

// tried records what keeping the effects of a trial would access.
func (c *scheduler) tried(e *scheduledCall, access []Access) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaveTrial(e)
	e.access, e.settled, e.reader, e.hasty = access, true, true, false
	c.signal(e)
}

func (c *scheduler) leaveTrial(e *scheduledCall) {
	c.freeSlot(e)
	delete(c.running, e)
	e.trying, e.abort = false, nil
}

// abortLater stops the trials and early reads of later calls of the batch, which have read what e is going to change.
func (c *scheduler) abortLater(e *scheduledCall) {
	if !changes(e.access) {
		return
	}
	for _, f := range e.batch.entries[e.index+1:] {
		if f.trying || f.ahead && disturbs(e.access, f.access) {
			f.stale = true
			f.abort()
		}
	}
}
