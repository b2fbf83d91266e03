package tool

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// canRunAhead reports whether a call can run while earlier calls of the batch are tried: it only reads. If one of these
// keeps something that it read, its result is discarded and it runs again.
func (e *scheduledCall) canRunAhead(inv *Invocation) bool {
	if e.early || e.decl.Origin != "" || e.decl.kind() != Read && e.decl.kind() != Search || inv.MustAsk ||
		inv.Form != nil {
		return false
	}
	for _, a := range inv.Access {
		if a.Verb != Reads && a != Nothing {
			return false
		}
	}
	return true
}

// runAhead runs a call that reads while earlier calls are tried, if the policy allows it. From then on Run of the
// invocation returns that result. The caller uses it only if nothing that was read has changed.
func (e *scheduledCall) runAhead(ctx context.Context, inv *Invocation) {
	d := e.x.judge(e.request(*inv), e.hook)
	if d.Verdict != Allow || d.Grant != nil {
		return
	}
	ahead, abort := context.WithCancel(ctx)
	defer abort()
	if e.x.Timeout > 0 {
		limited, cancel := context.WithTimeout(ahead, e.x.Timeout)
		defer cancel()
		ahead = limited
	}
	c := e.scheduler()
	if !c.startAhead(e, abort) {
		return
	}
	defer c.aheadEnded(e)
	if c.takeSlot(ahead, e) != nil {
		return
	}
	e.early = true
	var asked atomic.Bool
	l := &Live{Call: e.call, Decision: d, Show: func(Display) {}}
	l.Ask = func(ctx context.Context, q Invocation) (Decision, error) {
		asked.Store(true) // it asks when it runs
		return askInTrial(ctx, q)
	}
	began := time.Now()
	over := make(chan ran, 1)
	go call(ahead, inv, l, over)
	select {
	case r := <-over:
		if ahead.Err() != nil || asked.Load() || errors.Is(r.err, ErrDenied) {
			return
		}
		e.tried = time.Since(began)
		inv.Run = func(context.Context, *Live) (Result, error) { return r.Result, r.err }
	case <-ahead.Done(): // it only reads: nothing has to wait until it stops
	}
}

// startAhead marks a call as running that reads while earlier calls are tried. It reports false if no earlier call is
// tried, or if another call must end first.
func (c *scheduler) startAhead(e *scheduledCall, abort func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	writes := func(f *scheduledCall) bool { return disturbs(f.seen(), e.access) }
	if e.stale || e.lastEarlier(func(f *scheduledCall) bool { return f.unsettled() && writes(f) }) == nil ||
		e.lastEarlier(func(f *scheduledCall) bool { return !f.unsettled() && writes(f) }) != nil ||
		c.firstRunning(func(f *scheduledCall) bool { return disturbs(f.runs(), e.access) }) != nil {
		return false
	}
	c.running[e], e.ahead, e.abort = true, true, abort
	return true
}

func (c *scheduler) aheadEnded(e *scheduledCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freeSlot(e)
	delete(c.running, e)
	e.ahead, e.abort = false, nil
	c.signal(e)
}
