package adze

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// An Event is what happens in a run: [Text], [Thought], [Call], [Usage], [Notice], and at last [End].
type Event interface{ event() }

// Text is a piece of the model's answer.
type Text string

// Thought is a piece of the model's reasoning.
type Thought string

// Call is a call of a tool, whenever its Stage changes. Stage [tool.Asking] is a question: Decision says why it
// requires approval. With [tool.Done], Outcome has the result and the files that changed.
type Call struct{ tool.Event }

// Usage is what a request to the model used.
type Usage struct{ model.Usage }

// Notice is a line for the user, such as about a server that is asked again.
type Notice string

// End is the last event of a complete run: the answer.
type End struct{ agent.Answer }

func (Text) event()    {}
func (Thought) event() {}
func (Call) event()    {}
func (Usage) event()   {}
func (Notice) event()  {}
func (End) event()     {}

// run is one Run. Events wait in it, so that a slow reader delays no call.
type run struct {
	ctx    context.Context // of the run: it is an operation, not a stored value
	cancel context.CancelFunc
	ended  chan struct{} // closed after the last event
	wake   chan struct{} // has a token if there may be events

	mu     sync.Mutex
	events []Event

	answer agent.Answer
	err    error
}

// stop ends the run and waits for it: its calls have ended then, and are recorded.
func (r *run) stop() {
	r.cancel()
	<-r.ended
}

func (r *run) add(e Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// next returns the events since the last call. There are none after the end.
func (r *run) next() []Event {
	select {
	case <-r.wake:
	case <-r.ended:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

// over reports whether the run ended.
func (r *run) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// Run answers a prompt, with more parts such as images. The agent works while the events are read; the first error is
// the last value. Leaving the loop, and the end of ctx, stop the commands and leave a journal that can be resumed;
// background commands run until [Agent.Close]. An empty prompt continues a session that was interrupted. [Print] writes
// the events.
func (a *Agent) Run(ctx context.Context, prompt string, more ...model.Part) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r, err := a.begin(ctx)
		if err != nil {
			yield(nil, fmt.Errorf("adze.Run: %w", err))
			return
		}
		defer a.release(r)
		parts := more
		if prompt != "" {
			parts = append([]model.Part{model.Text(prompt)}, more...)
		}
		go r.answerTo(a, parts)
		for over := false; !over; {
			if over = r.over(); over { // before the events: no more come
				a.release(r)
			}
			for _, e := range r.next() {
				if !yield(e, nil) {
					return
				}
			}
		}
		if r.err != nil {
			yield(nil, r.err)
			return
		}
		yield(End{r.answer}, nil)
	}
}

// answerTo has the model answer a prompt; without parts, one that was interrupted.
func (r *run) answerTo(a *Agent, parts []model.Part) {
	defer close(r.ended)
	talk, err := a.converse(r.ctx)
	switch {
	case err != nil:
		r.err = err
	case len(parts) > 0:
		r.answer, r.err = talk.Run(r.ctx, parts...)
	case a.session.Unanswered():
		r.answer, r.err = talk.Continue(r.ctx)
	default:
		r.err = errors.New("adze.Run: the prompt is empty, and the model has answered the last one")
	}
}

// begin starts what excludes other runs. The caller closes its ended, and releases it.
func (a *Agent) begin(ctx context.Context) (*run, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return nil, ErrClosed
	case a.running != nil:
		return nil, ErrBusy
	}
	r := &run{ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithCancel(ctx)
	a.running = r
	return r, nil
}

// release ends a run, once.
func (a *Agent) release(r *run) {
	r.stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running == r {
		a.running = nil
	}
}

// observe passes an event of the agent on to the run.
func (a *Agent) observe(e agent.Event) {
	event := eventOf(e)
	if event == nil {
		return
	}
	a.mu.Lock()
	r := a.running
	a.mu.Unlock()
	if r != nil {
		r.add(event)
	}
}

// eventOf returns the event of a run; nil: it has none.
func eventOf(e agent.Event) Event {
	switch e := e.(type) {
	case agent.Said:
		switch e := e.Event.(type) {
		case model.Text:
			return Text(e)
		case model.Thought:
			return Thought(e)
		case model.Retry:
			return Notice(e.String())
		}
	case agent.Step:
		return Call{e.Event}
	case agent.Answered:
		if e.Usage != (model.Usage{}) {
			return Usage{e.Usage}
		}
	case agent.Compacted:
		return Notice(e.String())
	case agent.Stuck:
		return Notice(e.String())
	case agent.Changed:
		return Notice(e.String())
	}
	return nil
}
