package tool

import (
	"context"
	"slices"
)

// everything is the access of a trial.
var everything = Access{Reads, "*"}

// uses is what the outcome of a call depends on: a tried one has read everything.
func (e *entry) uses() []Access {
	if e.reader {
		return append(slices.Clip(e.access), everything)
	}
	return e.access
}

// runs is what a running call accesses.
func (e *entry) runs() []Access {
	if e.trying {
		return []Access{everything}
	}
	return e.access
}

// unsettled reports whether the call is tried, and whether its effects are kept isn't decided.
func (e *entry) unsettled() bool { return e.trying || e.reader && !e.admitted }

// calm makes a hasty call wait for earlier trials, and reports whether it was hasty.
func (c *scheduler) calm(e *entry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := e.hasty
	e.hasty = false
	return was
}

// awaitTrial waits until no call writes what the trial would read, and marks it running, unless what Prepare read has changed
// meanwhile. The first trial doesn't wait for earlier calls that are tried too: if these keep something, it is stopped and
// repeated.
func (c *scheduler) awaitTrial(ctx context.Context, e *entry, abort func()) (ok bool, err error) {
	all := []Access{everything}
	err = c.await(ctx, func() *entry {
		if f := e.lastEarlier(func(f *entry) bool { return !(e.hasty && f.unsettled()) && disturbs(f.seen(), all) }); f != nil {
			return f
		}
		return c.firstRunning(func(f *entry) bool { return f != e && disturbs(f.runs(), all) })
	}, func() {
		if ok = !e.stale; ok {
			c.running[e], e.trying, e.abort = true, true, abort
			c.signal(e)
		}
	})
	return ok, err
}

// trialEnded records that a trial has ended without effects that could be kept.
func (c *scheduler) trialEnded(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaveTrial(e)
	c.signal(e)
}

// tried records what keeping the effects of a trial would access.
func (c *scheduler) tried(e *entry, access []Access) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaveTrial(e)
	e.access, e.settled, e.reader, e.hasty = access, true, true, false
	c.signal(e)
}

func (c *scheduler) leaveTrial(e *entry) {
	c.freeSlot(e)
	delete(c.running, e)
	e.trying, e.abort = false, nil
}

// abortLater stops the trials of later calls of the batch, which have read what e is going to change, and calls that read it
// ahead.
func (c *scheduler) abortLater(e *entry) {
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
