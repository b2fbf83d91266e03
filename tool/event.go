package tool

import (
	"sync"
	"time"
)

// Stage is the progress of a call.
type Stage string

// The stages that an observer sees.
const (
	Prepared  Stage = "prepared"  // its effects are known
	Asking    Stage = "asking"    // waiting for approval
	Withdrawn Stage = "withdrawn" // the question was answered otherwise
	Trying    Stage = "trying"    // running in a trial; Asking or Running may follow
	Running   Stage = "running"
	Showing   Stage = "showing" // a new display while it runs
	Done      Stage = "done"
)

// Event reports one step of a call to a front end.
type Event struct {
	Stage    Stage
	Request  Request  // what is known of the call; Call.By names the subagent
	Decision Decision // Asking: why; Trying: why it isn't allowed; Running: what was granted
	Display  Display  // Showing
	Outcome  *Outcome // Done
}

// displayPause is the minimum time between two displays of one call.
const displayPause = 20 * time.Millisecond

// outbox delivers events to an observer, one at a time and in order, and never delays a call. Of the displays of a call
// it keeps only the newest.
type outbox struct {
	observe func(Event)

	mu        sync.Mutex
	queue     []func() (Event, bool)
	busy      bool
	queued    int // events ever queued,
	delivered int // and how many of them are delivered
	progress  *sync.Cond
}

func newOutbox(observe func(Event)) *outbox {
	o := &outbox{observe: observe}
	o.progress = sync.NewCond(&o.mu)
	return o
}

func (o *outbox) push(ev Event) {
	o.later(func() (Event, bool) { return ev, true })
}

// later queues an event that is made at the time of its delivery, or not at all.
func (o *outbox) later(make func() (Event, bool)) {
	if o.observe == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, make)
	o.queued++
	if !o.busy {
		o.busy = true
		go o.drain()
	}
}

// flush waits until everything queued so far was delivered.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for want := o.queued; o.delivered < want; {
		o.progress.Wait()
	}
}

func (o *outbox) drain() {
	for {
		o.mu.Lock()
		if len(o.queue) == 0 {
			o.busy = false
			o.mu.Unlock()
			return
		}
		next := o.queue[0]
		o.queue = o.queue[1:]
		o.mu.Unlock()
		if ev, ok := next(); ok {
			o.observe(ev)
		}
		o.mu.Lock()
		o.delivered++
		o.progress.Broadcast()
		o.mu.Unlock()
	}
}

// screen keeps the newest display of one running call.
type screen struct {
	out  *outbox
	req  Request
	mu   sync.Mutex
	next Display // waiting to be delivered
	due  bool    // a delivery is on its way
	last time.Time
	shut bool
}

// show replaces the display. It returns at once.
func (s *screen) show(d Display) {
	if d == nil || s.out.observe == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return
	}
	s.next = d
	if s.due {
		return
	}
	s.due = true
	if pause := displayPause - time.Since(s.last); pause > 0 {
		time.AfterFunc(pause, func() { s.out.later(s.take) })
		return
	}
	s.out.later(s.take)
}

func (s *screen) take() (Event, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.next
	s.next, s.due, s.last = nil, false, time.Now()
	return Event{Stage: Showing, Request: s.req, Display: d}, d != nil
}

// close delivers the last display and ignores all later ones.
func (s *screen) close() {
	s.mu.Lock()
	waiting := s.next != nil
	s.shut = true
	s.mu.Unlock()
	if waiting {
		s.out.later(s.take)
	}
}
