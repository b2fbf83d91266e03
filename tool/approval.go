package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// ask asks the user. It returns with the answer, or when a change of rules or of what was shown makes the question
// obsolete. invalidated reports the latter; it is nil for a running call, which keeps its position in the order.
func (e *scheduledCall) ask(ctx context.Context, r Request, why Decision, invalidated func() bool) step {
	if e.x.Ask == nil {
		s := e.stop(Unapproved(r, why, "this session is non-interactive").outcome())
		s.unasked = true
		return s
	}
	asked, withdraw := context.WithCancel(ctx)
	defer withdraw()
	woken, unwatch := e.scheduler().open(e)
	defer unwatch()
	turn, leave := e.scheduler().lineUp(e, invalidated == nil)
	defer leave()
	moot := func() *step { // whether it is answered without the user
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
func (e *scheduledCall) put(ctx context.Context, r Request, why Decision, answers chan<- answer) {
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

func (e *scheduledCall) answered(ctx context.Context, r Request, why Decision, a answer) step {
	var unasked *DenialError
	switch {
	case ctx.Err() != nil && (a.err != nil || a.Verdict != Allow):
		return e.stop(cancelled("%s: cancelled while waiting for approval", r.Description))
	case errors.Is(a.err, context.Canceled):
		return e.stop(cancelled("%s: cancelled by the user", r.Description))
	case errors.As(a.err, &unasked):
		s := e.stop(unasked.outcome())
		s.unasked = true
		return s
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
func (e *scheduledCall) askLive(ctx context.Context, q Invocation) (Decision, error) {
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

// Call is a tool call of a model. The agent makes ID unique in the session; servers don't.
type Call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	By   string          `json:"by,omitempty"` // "" or the path of subagents, "explore/2"; set by the executor
	// how the model writes edits: results may show text in a form for it
	Dialect Dialect `json:"-"`
}

// Request is a call that a policy judges or a front end shows. It is data: it has nothing to run.
type Request struct {
	Call        Call
	Declaration Declaration
	Invocation  // Run is nil; Access is never empty
}

// Verdict is the result of a policy. Smaller is stricter, and the zero value denies.
type Verdict int

// The verdicts, strictest first.
const (
	Deny Verdict = iota
	Ask
	Allow
)

func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	default:
		return "deny"
	}
}

// Decision is a policy's or a user's answer to a Request.
type Decision struct {
	Verdict Verdict
	Cause   Cause           // what decided
	Reason  string          // what it decided about ("writes /tmp/x"), or the user's own words; see Why
	Args    json.RawMessage // arguments edited by the user: prepared and judged again, asked again if Access differs
	Answer  json.RawMessage // the user's answer to Form
	// the granted access; nil: Access. Narrower where a sandbox enforces it; scheduling then uses it
	Grant []Access
	// rules that would allow this, narrowest first; one offer can be several rules, joined by newlines
	Offer    []string
	Remember string // the offer that the user chose
	// Approve, set by Executor.Before with the verdict Allow, answers a policy's Ask. It is ignored where the policy
	// denies, in plan mode, and for calls that only the user can approve (MustAsk).
	Approve bool
	// Try, set by a policy: not allowed, but no rule forbids a trial. See Invocation.Trial.
	Try bool
	// Direct, set by an Asker with the verdict Allow for a call that was tried: discard the effects and run the call
	// itself.
	Direct bool
}

// A Policy judges a request. It returns at once, without I/O, and can be called any number of times. A nil Policy
// requires approval for everything. The access of external tools (with an Origin) is always Anything.
type Policy func(Request) Decision

// An Asker asks the user for approval; several questions can be open. When ctx ends the question is withdrawn. A nil
// Asker denies. After an answer with Remember set, all open questions are judged again. An Asker that has no user
// returns a [DenialError], as made by [Unapproved]. Any other error with ErrDenied in its chain denies the call with
// the error's text.
type Asker func(ctx context.Context, r Request, why Decision) (Decision, error)

// Stricter returns a policy that allows what both allow, asks where either asks, and permits trials where each does or
// allows the call.
func Stricter(a, b Policy) Policy {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return func(r Request) Decision {
		x, y := a(r), b(r)
		x.Try = (x.Try || x.Verdict == Allow) && (y.Try || y.Verdict == Allow)
		x.Try = x.Try && (x.Verdict != Allow || y.Verdict != Allow) // otherwise it just runs
		y.Try = x.Try
		if y.Verdict < x.Verdict || y.Verdict == Ask && x.Verdict == Ask && y.userOnly() {
			return y
		}
		switch {
		case x.Verdict != Allow:
		case x.Grant == nil:
			x.Grant = y.Grant
		case y.Grant != nil && !slices.Equal(x.Grant, y.Grant):
			// The intersection of the two grants is unknown here.
			return Decision{Verdict: Ask, Cause: Cause{Kind: BySandbox}, Reason: "two policies sandbox it differently"}
		}
		return x
	}
}
