package tool

import (
	"context"
	"sync"
)

// core is what an executor shares with the executors of its subagents: who waits for whom.
//
// Nobody waits in a circle. A call waits for earlier calls of its own batch, and for calls that run; a running call
// waits for nobody, except that after a question of its own it waits for a slot, and slots are held only by calls
// that run and ask nothing.
type core struct {
	mu      sync.Mutex
	live    map[*entry]bool // not done yet
	running map[*entry]bool // leaf calls whose Run has begun and has not returned
	asking  map[*poke]bool  // open questions
	slots   chan struct{}
	out     *outbox
}

// poke wakes an open question of a call.
type poke struct {
	e *entry
	c chan struct{}
}

func (p *poke) wake() {
	select {
	case p.c <- struct{}{}:
	default:
	}
}

func newCore(limit int, observe func(Event)) *core {
	return &core{
		live:    map[*entry]bool{},
		running: map[*entry]bool{},
		asking:  map[*poke]bool{},
		slots:   make(chan struct{}, limit),
		out:     newOutbox(observe),
	}
}

// entry is one call on its way through an executor.
type entry struct {
	x     *Executor
	batch *Batch
	index int // in the batch
	call  Call
	tool  Tool
	decl  Declaration
	floor Verdict  // what hooks want at least: Ask, or Allow for no wish
	notes []string // for the model, beside those of the invocation

	repairs []string // notes on the call itself, which stay when a person edits it

	// Guarded by core.mu.
	access    []Access      // what it is known to touch; the bound of its kind at first
	settled   bool          // access is of a Prepare that nothing has overtaken; if not, others see the bound
	preparing bool          // a Prepare is under way,
	overtaken [][]Access    // and these writers have ended since it began
	stale     bool          // a writer of what it saw has ended since its Prepare began
	admitted  bool          // judged and allowed
	refused   bool          // a person said no
	done      bool          //
	hasSlot   bool          //
	left      bool          // it has returned, or drives others: it takes no slot any more
	changed   chan struct{} // closed, and replaced, when any of the above changes
	outcome   Outcome
}

// enter adds an entry to the order, behind all entries of its batch.
func (c *core) enter(b *Batch, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.index = len(b.entries)
	b.entries = append(b.entries, e)
	e.access = e.decl.bound()
	e.changed = make(chan struct{})
	c.live[e] = true
}

func (c *core) signal(e *entry) {
	close(e.changed)
	e.changed = make(chan struct{})
}

// prepare marks the beginning of a Prepare: whatever ended before it is seen by it.
func (c *core) prepare(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.preparing, e.overtaken, e.stale, e.admitted = true, nil, false, false
}

// prepared notes what the call touches.
func (c *core) prepared(e *entry, access []Access) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.access, e.preparing, e.settled = access, false, true
	for _, w := range e.overtaken {
		c.overtake(e, w)
	}
	e.overtaken = nil
	c.signal(e)
}

// overtake notes that a call with access w has ended, and may have changed what e saw.
func (c *core) overtake(e *entry, w []Access) {
	if e.preparing {
		e.overtaken = append(e.overtaken, w)
		return
	}
	if !disturbs(w, e.access) {
		return
	}
	e.stale = true
	// A written file changes what a path holds; a command may also change where a path leads.
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

// seen is the access that others must reckon with.
func (e *entry) seen() []Access {
	if e.settled {
		return e.access
	}
	return e.decl.bound()
}

// admit notes that the call may run, and what it was held to if that is less than it declared.
func (c *core) admit(e *entry, grant []Access) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.admitted = true
	if grant != nil {
		e.access = grant
	}
	c.signal(e)
}

// refuse notes that a person said no.
func (c *core) refuse(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.refused = true
}

// awaitQuestion waits until the call may be judged: earlier writers of what it touches are done, and earlier readers
// of what it writes have passed their own judgement.
func (c *core) awaitQuestion(ctx context.Context, e *entry) error {
	return c.await(ctx, func() *entry {
		return e.lastEarlier(func(f *entry) bool {
			return disturbs(f.seen(), e.access) || !f.admitted && disturbs(e.access, f.seen())
		})
	}, nil)
}

// awaitTurn waits until the call may run and marks it running, unless what it saw has changed meanwhile.
func (c *core) awaitTurn(ctx context.Context, e *entry) (ok bool, err error) {
	err = c.await(ctx, func() *entry {
		if f := e.lastEarlier(func(f *entry) bool { return conflict(f.seen(), e.access) }); f != nil {
			return f
		}
		return c.firstRunning(func(f *entry) bool { return f != e && conflict(f.access, e.access) })
	}, func() {
		ok = !e.stale
		if ok {
			c.running[e] = true
		}
	})
	return ok, err
}

// awaitQuiet waits until no call runs that may change what e saw: the error of a Prepare may be about a passing state.
func (c *core) awaitQuiet(ctx context.Context, e *entry) (ok bool, err error) {
	err = c.await(ctx, func() *entry {
		return c.firstRunning(func(f *entry) bool { return f != e && disturbs(f.access, e.access) })
	}, func() { ok = !e.stale })
	return ok, err
}

// await waits until no one blocks, then does last in the same breath.
func (c *core) await(ctx context.Context, blocker func() *entry, last func()) error {
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

// lastEarlier finds the last earlier call of the batch that is not done and blocks: the others are mostly done before
// it is, so one wait does for all.
func (e *entry) lastEarlier(blocks func(*entry) bool) *entry {
	for i := e.index - 1; i >= 0; i-- {
		if f := e.batch.entries[i]; !f.done && blocks(f) {
			return f
		}
	}
	return nil
}

func (c *core) firstRunning(blocks func(*entry) bool) *entry {
	for f := range c.running {
		if blocks(f) {
			return f
		}
	}
	return nil
}

// refusedBefore finds an earlier call of the batch that a person refused and that this one would build on.
func (c *core) refusedBefore(e *entry) *entry {
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

// takeSlot waits for a place among the calls that run at once.
func (c *core) takeSlot(ctx context.Context, e *entry) error {
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

// giveSlot gives the place back, if e has one, and reports whether it had.
func (c *core) giveSlot(e *entry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.freeSlot(e)
}

func (c *core) freeSlot(e *entry) bool {
	had := e.hasSlot
	if had {
		e.hasSlot = false
		<-c.slots
	}
	return had
}

// leave takes the call out of those that run, for good.
func (c *core) leave(e *entry) {
	e.left = true
	c.freeSlot(e)
	delete(c.running, e)
}

// delegate makes a running call a mere driver of others: it takes no slot and excludes nobody.
func (c *core) delegate(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(e)
	c.signal(e)
}

// returned notes that Run is over: whoever saw what it may have changed must look again.
func (c *core) returned(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(e)
	if orders(e.access) {
		for f := range c.live {
			if f != e && !c.running[f] {
				c.overtake(f, e.access)
			}
		}
	}
	c.signal(e)
}

// finish takes the call out of the order.
func (c *core) finish(e *entry, o Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.outcome, e.done = o, true
	delete(c.live, e)
	c.signal(e)
}

// rejudge wakes every open question.
func (c *core) rejudge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.asking {
		p.wake()
	}
}

// open lets a question be woken when something changes that may answer it, until close is called.
func (c *core) open(e *entry) (woken <-chan struct{}, close func()) {
	p := &poke{e, make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking[p] = true
	return p.c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asking, p)
	}
}

func (c *core) isStale(e *entry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return e.stale
}
