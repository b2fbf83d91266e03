package search

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// member is a search that takes part in a pass, alone or with others.
type member struct {
	scope  *Scope
	filter *filter
	reads  bool         // it opens files, and visits no links
	tree   *TreeRequest // everything is visited: see Tree
	alone  bool         // it shares no pass
	// equip prepares for a walk. Its result returns the visitor of a worker.
	equip func(*walk, *member) func(*Summary) visitor

	stop atomic.Bool // it visits no more
	slow atomic.Bool // it must not delay others
	once sync.Once
	over chan struct{} // closed with stop

	// Guarded by the mutex of the pass:
	walk *walk // the last one with it
	seat int   // its index there
	left bool
}

// seat is the place of a member at a worker.
type seat struct {
	member  *member
	visitor visitor
	sum     Summary
	sorted  bool          // visitor.done was called
	spent   time.Duration // by the visitor, if there are others
}

// members is a set of the members of a walk, by their index.
type members uint16

func (m members) has(i int) bool { return m&(1<<i) != 0 }

// quit ends the part of one member.
func (m *member) quit() {
	m.stop.Store(true)
	m.once.Do(func() { close(m.over) })
}

// separate makes a member continue alone.
func (m *member) separate() {
	m.slow.Store(true)
	m.quit()
}

// joins reports whether two members can share a pass.
func (m *member) joins(o *member) bool {
	a, b := m.scope, o.scope
	return m.reads == o.reads && a.Rules == b.Rules && a.Workers == b.Workers &&
		a.portable == b.portable && a.buffer == b.buffer && slices.Equal(a.Paths, b.Paths)
}

// run searches. It returns the visitors with their results, and whether the search stopped before its end.
func (m *member) run(ctx context.Context, sum *Summary) (visitors []visitor, stopped bool, err error) {
	m.over = make(chan struct{})
	p := m.begin()
	halt := context.AfterFunc(ctx, m.quit)
	defer halt()
	select {
	case <-p.done:
		err = p.err
	case <-m.over:
	}
	visitors = p.leave(m, sum)
	if err == nil && m.slow.Load() && ctx.Err() == nil {
		*sum = Summary{}
		own := &member{scope: m.scope, filter: m.filter, reads: m.reads, equip: m.equip, alone: true}
		return own.run(ctx, sum)
	}
	return visitors, m.stop.Load(), err
}

// pass is a walk for one or more members.
type pass struct {
	began time.Time
	done  chan struct{}
	err   error // set before done is closed

	mu      sync.Mutex
	members []*member
	walk    *walk
	closed  bool
}

// begin joins a pass that has just begun, or begins one.
func (m *member) begin() *pass {
	p := &pass{began: time.Now(), done: make(chan struct{}), members: []*member{m}}
	if s := m.scope.Shared; s != nil && !m.alone && m.scope.Rules != nil {
		window := joinTime
		if s.window > 0 {
			window = s.window
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, young := range s.passes {
			if young.admit(m, window) {
				return young
			}
		}
		s.passes = append(slices.DeleteFunc(s.passes, func(p *pass) bool { return p.ended(window) }), p)
	}
	go p.run()
	return p
}

func (p *pass) ended(window time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed || time.Since(p.began) > window
}

// admit adds a member to a pass that has just begun. The pass begins again, so that nothing is older than the request.
func (p *pass) admit(m *member, window time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || time.Since(p.began) > window || len(p.members) == maxMembers || !p.members[0].joins(m) {
		return false
	}
	p.members = append(p.members, m)
	if p.walk != nil {
		p.walk.quit()
	}
	return true
}

// run walks until a walk was for all members.
func (p *pass) run() {
	defer close(p.done)
	for n := 0; ; {
		w := p.next(&n)
		if w == nil {
			return
		}
		p.err = w.run()
	}
}

// next returns the next walk, or nil after the last one. n is the number of members at the last one.
func (p *pass) next(n *int) *walk {
	p.mu.Lock()
	defer p.mu.Unlock()
	active := slices.DeleteFunc(slices.Clone(p.members), func(m *member) bool { return m.left || m.stop.Load() })
	if *n == len(p.members) || len(active) == 0 {
		p.closed = true
		return nil
	}
	*n = len(p.members)
	p.walk = newWalk(active)
	for i, m := range active {
		m.walk, m.seat = p.walk, i
	}
	return p.walk
}

// leave takes a member out of the pass, with what it found so far. The last one ends the pass.
func (p *pass) leave(m *member, sum *Summary) (visitors []visitor) {
	p.mu.Lock()
	m.left = true
	w, last := m.walk, !slices.ContainsFunc(p.members, func(m *member) bool { return !m.left })
	p.closed = p.closed || last
	if last && p.walk != nil {
		p.walk.quit()
	}
	p.mu.Unlock()
	if last {
		<-p.done
		p.mu.Lock()
		p.members, p.walk = nil, nil // Shared may have the pass for long
		p.mu.Unlock()
	}
	if w == nil {
		return nil
	}
	for _, k := range w.all {
		s := k.release(m.seat)
		if !s.sorted {
			s.visitor.done()
		}
		sum.add(&s.sum)
		visitors = append(visitors, s.visitor)
	}
	return visitors
}

// release takes the seat of a member away from a worker.
func (k *worker) release(i int) *seat {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.seats[i]
	k.seats[i] = nil
	return s
}

// slowTime is how long a search can take of a pass before its share of the time matters.
const slowTime = 50 * time.Millisecond

// spend accounts for a visit. A search that takes more than half of the time continues alone.
func (k *worker) spend(s *seat, d time.Duration) {
	if s.spent += d; s.spent > slowTime && s.spent > time.Since(k.walk.began)/2 {
		s.member.separate()
	}
}
