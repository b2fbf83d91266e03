package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ask puts a question to the user. It ends with their answer, or when a change of rules or of what was shown makes the
// question another one. overtaken reports the latter; it is nil for a running call, which has its place in the order.
func (e *entry) ask(ctx context.Context, r Request, why Decision, overtaken func() bool) step {
	if e.x.Ask == nil {
		return e.stop(unanswered(r.Description, "this session is non-interactive"+because(why.Why())))
	}
	asked, withdraw := context.WithCancel(ctx)
	defer withdraw()
	woken, unwatch := e.core().open(e)
	defer unwatch()
	turn, leave := e.core().lineUp(e, overtaken == nil)
	defer leave()
	moot := func() *step { // does anything but the user answer it?
		if overtaken != nil && overtaken() {
			return &step{again: true}
		}
		switch d := e.x.judge(r, e.floor); d.Verdict {
		case Allow:
			return &step{decision: d}
		case Deny:
			s := e.stop(denial(r.Description, d))
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
			e.core().out.push(Event{Stage: Withdrawn, Request: r})
		}
	}
	for {
		select {
		case <-turn:
			turn = nil
			e.put(asked, r, why, answers)
		case a := <-answers:
			return e.answered(ctx, r, a)
		case <-ctx.Done():
			withdrawn()
			return e.stop(cancelled("%s: cancelled while a person was asked", r.Description))
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
		a := answer{err: errors.New("the front end gave no answer")}
		defer func() { answers <- a }() // also when the front end ends this goroutine
		a = e.x.question(ctx, r, why)
	}()
	e.core().out.push(Event{Stage: Asking, Request: r, Decision: why})
}

type answer struct {
	Decision
	err error
}

// question calls the asker, who may be slow, forgetful or broken.
func (x *Executor) question(ctx context.Context, r Request, why Decision) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a = answer{err: fmt.Errorf("the front end failed: %v", p)}
		}
	}()
	d, err := x.Ask(ctx, r, why)
	return answer{d, err}
}

func (e *entry) answered(ctx context.Context, r Request, a answer) step {
	switch {
	case a.err != nil && ctx.Err() != nil:
		return e.stop(cancelled("%s: cancelled while a person was asked", r.Description))
	case errors.Is(a.err, context.Canceled):
		return e.stop(cancelled("%s: the person cancelled it", r.Description))
	case errors.Is(a.err, ErrDenied): // the asker says who denied it, and why
		return e.stop(denied("%s: %v", r.Description, a.err))
	case a.err != nil:
		return e.stop(unanswered(r.Description, a.err.Error()))
	case a.Verdict != Allow:
		a.Cause.Kind = ByUser
		s := e.stop(denial(r.Description, a.Decision))
		s.no = true
		return s
	}
	if a.Remember != "" {
		e.core().rejudge()
	}
	return step{decision: a.Decision}
}

// askLive is Live.Ask: a question in the middle of Run, through the same policy.
func (e *entry) askLive(ctx context.Context, q Invocation) (Decision, error) {
	q.Description = oneLine(q.Description)
	more := func(a Access) bool { return a != Nothing }
	if len(q.Access) == 0 || e.decl.Origin != "" && slices.ContainsFunc(q.Access, more) {
		q.Access = []Access{Anything}
	}
	r := e.request(q)
	d := e.x.judge(r, Allow)
	if d.Verdict == Allow {
		return d, nil
	}
	if d.Verdict == Deny {
		return d, fmt.Errorf("%s: %w%s", q.Description, ErrDenied, because(d.Why()))
	}
	if e.core().giveSlot(e) {
		defer e.core().takeSlot(context.WithoutCancel(ctx), e)
	}
	s := e.ask(ctx, r, d, nil)
	switch {
	case ctx.Err() != nil:
		return Decision{}, context.Cause(ctx)
	case s.end != nil:
		return Decision{Cause: s.decision.Cause, Reason: s.end.Error.Message}, fmt.Errorf("%w: %s", ErrDenied, s.end.Error.Message)
	}
	return s.decision, nil
}
