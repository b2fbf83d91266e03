package tool

import (
	"context"
	"encoding/json"
	"slices"
)

// Call is a tool call of a model. The agent makes ID unique in the session; servers don't.
type Call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	By   string          `json:"by,omitempty"` // "" or the path of subagents, "explore/2"; set by the executor
}

// Request is what a policy or a front end gets: data, nothing to run.
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
	Verdict  Verdict
	Cause    Cause           // what decided
	Reason   string          // what it decided about ("writes /tmp/x"), or the user's own words; see Why
	Args     json.RawMessage // arguments edited by the user: prepared and judged again, asked again if Access differs
	Answer   json.RawMessage // the user's answer to Form
	Grant    []Access        // the granted access; nil: Access. Narrower where a sandbox enforces it; scheduling then uses it
	Offer    []string        // rules that would allow this, narrowest first; one offer can be several rules, joined by newlines
	Remember string          // the offer that the user chose
	// Approve, set by Executor.Before with the verdict Allow, answers a policy's Ask. It is ignored where the policy
	// denies, in plan mode, and for calls that only the user can approve (MustAsk).
	Approve bool
	// Try, set by a policy: not allowed, but no rule forbids a trial. See Invocation.Trial.
	Try bool
	// Direct, set by an Asker with the verdict Allow for a call that was tried: discard the effects and run the call itself.
	Direct bool
}

// A Policy judges a request. It returns at once, without I/O, and can be called any number of times. A nil Policy requires
// approval for everything. The access of external tools (with an Origin) is always Anything.
type Policy func(Request) Decision

// An Asker asks the user for approval; several questions can be open. When ctx ends the question is withdrawn. A nil Asker
// denies. After an answer with Remember set, all open questions are judged again. An Asker that has no user returns a
// [DenialError], as made by [Unapproved]. Any other error with ErrDenied in its chain denies the call with the error's text.
type Asker func(ctx context.Context, r Request, why Decision) (Decision, error)

// Stricter returns a policy that allows only what both allow, asks where one of them asks, and lets a call be tried only
// where both do.
func Stricter(a, b Policy) Policy {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return func(r Request) Decision {
		x, y := a(r), b(r)
		x.Try = x.Try && y.Try
		y.Try = x.Try
		if y.Verdict < x.Verdict || y.Verdict == Ask && x.Verdict == Ask && y.userOnly() {
			return y
		}
		switch {
		case x.Verdict != Allow:
		case x.Grant == nil:
			x.Grant = y.Grant
		case y.Grant != nil && !slices.Equal(x.Grant, y.Grant):
			// What both grants have in common isn't known here.
			return Decision{Verdict: Ask, Cause: Cause{Kind: BySandbox}, Reason: "two policies sandbox it differently"}
		}
		return x
	}
}
