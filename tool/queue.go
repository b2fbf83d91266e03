package tool

import "slices"

// ticket is the place of an open question in the queue of an executor that asks in turn.
type ticket struct {
	e    *entry
	live bool          // of a running call
	turn chan struct{} // closed when the question may be put to the user
}

// lineUp adds a question to the queue. The returned channel is closed at its turn; leave makes room for the next.
func (c *scheduler) lineUp(e *entry, live bool) (turn <-chan struct{}, leave func()) {
	t := &ticket{e, live, make(chan struct{})}
	if !e.x.AskInTurn {
		close(t.turn)
		return t.turn, func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, t)
	c.callNext()
	return t.turn, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting = slices.DeleteFunc(c.waiting, func(w *ticket) bool { return w == t })
		if c.asked == t {
			c.asked = nil
		}
		c.callNext()
	}
}

// callNext gives the turn to the next question, if none is being asked: within a batch that of the earliest call, among
// batches the one that came first.
func (c *scheduler) callNext() {
	if c.asked != nil {
		return
	}
	var next *ticket
	for _, t := range c.waiting {
		if c.mayAsk(t) && (next == nil || t.e.batch == next.e.batch && t.e.index < next.e.index) {
			next = t
		}
	}
	if next == nil {
		return
	}
	c.asked = next
	c.waiting = slices.DeleteFunc(c.waiting, func(w *ticket) bool { return w == next })
	close(next.turn)
}

// mayAsk reports whether no earlier call of the batch may still come with a question: each is done, allowed, or in the
// queue itself. A running call doesn't wait, because earlier calls may wait for it to end.
func (c *scheduler) mayAsk(t *ticket) bool {
	return t.live || t.e.lastEarlier(func(f *entry) bool { return !f.admitted && !c.queued(f) }) == nil
}

func (c *scheduler) queued(e *entry) bool {
	return c.asked != nil && c.asked.e == e || slices.ContainsFunc(c.waiting, func(t *ticket) bool { return t.e == e })
}
