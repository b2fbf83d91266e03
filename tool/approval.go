package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ask asks the user. It returns with the answer, or when a change of rules or of what was shown makes the question
// obsolete. invalidated reports the latter; it is nil for a running call, which keeps its position in the order.
func (e *entry) ask(ctx context.Context, r Request, why Decision, invalidated func() bool) step {
	if e.x.Ask == nil {
		return e.stop(Unapproved(r, why, "this session is non-interactive").outcome())
	}
	asked, withdraw := context.WithCancel(ctx)
	defer withdraw()
	woken, unwatch := e.scheduler().open(e)
	defer unwatch()
	turn, leave := e.scheduler().lineUp(e, invalidated == nil)
	defer leave()
	moot := func() *step { // is it answered without the user?
		if invalidated != nil && invalidated() {
			return &step{again: true}
		}
		switch d := e.x.judge(r, e.hook); d.Verdict {
		case Allow:
			return &step{decision: d}
		case Deny:
			s := e.stop(denial(r.Description, d).outcome())
			return &s
		}
		return nil
	}
	if s := moot(); s != nil { // since it was prepared and judged
		return *s
	}
	answers := make(chan answer, 1)
	withdrawn := func() {
		if turn == nil { // it was asked
			e.scheduler().out.push(Event{Stage: Withdrawn, Request: r})
		}
	}
	for {
		select {
		case <-turn:
			turn = nil
			e.put(asked, r, why, answers)
		case a := <-answers:
			return e.answered(ctx, r, why, a)
		case <-ctx.Done():
			withdrawn()
			return e.stop(cancelled("%s: cancelled while waiting for approval", r.Description))
		case <-woken:
			if s := moot(); s != nil {
				withdrawn()
				return *s
			}
		}
	}
}

// put hands a question to the front end.
func (e *entry) put(ctx context.Context, r Request, why Decision, answers chan<- answer) {
	go func() {
		a := answer{err: errors.New("no answer")}
		defer func() { answers <- a }() // also when the front end ends this goroutine
		a = e.x.question(ctx, r, why)
	}()
	e.scheduler().out.push(Event{Stage: Asking, Request: r, Decision: why})
}

type answer struct {
	Decision
	err error
}

// question calls the asker, which may panic.
func (x *Executor) question(ctx context.Context, r Request, why Decision) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a = answer{err: fmt.Errorf("the front end failed: %v", p)}
		}
	}()
	d, err := x.Ask(ctx, r, why)
	return answer{d, err}
}

func (e *entry) answered(ctx context.Context, r Request, why Decision, a answer) step {
	var unasked *DenialError
	switch {
	case a.err != nil && ctx.Err() != nil:
		return e.stop(cancelled("%s: cancelled while waiting for approval", r.Description))
	case errors.Is(a.err, context.Canceled):
		return e.stop(cancelled("%s: cancelled by the user", r.Description))
	case errors.As(a.err, &unasked):
		return e.stop(unasked.outcome())
	case errors.Is(a.err, ErrDenied): // the asker says who denied it, and why
		return e.stop(deniedBy(fmt.Errorf("%s: %w", r.Description, a.err)))
	case a.err != nil:
		return e.stop(Unapproved(r, why, "asking the user failed: "+a.err.Error()).outcome())
	case a.Verdict != Allow:
		a.Cause.Kind = ByUser
		s := e.stop(denial(r.Description, a.Decision).outcome())
		s.no, s.decision = true, a.Decision
		return s
	}
	if a.Remember != "" {
		e.scheduler().rejudge()
	}
	return step{decision: a.Decision}
}

// askLive is Live.Ask: a question during Run, through the same policy.
func (e *entry) askLive(ctx context.Context, q Invocation) (Decision, error) {
	q.Description = oneLine(q.Description)
	more := func(a Access) bool { return a != Nothing }
	if len(q.Access) == 0 || e.decl.Origin != "" && slices.ContainsFunc(q.Access, more) {
		q.Access = []Access{Anything}
	}
	r := e.request(q)
	d := e.x.judge(r, hooked{})
	if d.Verdict == Allow {
		return d, nil
	}
	if d.Verdict == Deny {
		return d, denial(q.Description, d)
	}
	if e.scheduler().giveSlot(e) {
		defer e.scheduler().takeSlot(context.WithoutCancel(ctx), e)
	}
	s := e.ask(ctx, r, d, nil)
	switch {
	case ctx.Err() != nil:
		return Decision{}, context.Cause(ctx)
	case s.end != nil:
		err := &DenialError{Model: s.end.Error.ForModel(), User: s.end.Error.Message}
		return Decision{Cause: s.decision.Cause, Reason: err.Model}, err
	}
	return s.decision, nil
}
