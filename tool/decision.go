package tool

import (
	"context"
	"encoding/json"
	"slices"
)

// Call is a model's request. The agent makes ID unique in the session; servers do not.
type Call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	By   string          `json:"by,omitempty"` // "" or the path of subagents, "explore/2"; set by the executor
}

// Request is all that a policy or a front end is given: data, nothing to run.
type Request struct {
	Call        Call
	Declaration Declaration
	Invocation  // Run is nil; Access is never empty
}

// Verdict is a judgement. The smaller is the stricter, and the zero value refuses.
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
	Args     json.RawMessage // arguments edited by a person: prepared and judged anew, asked anew if Access differs
	Answer   json.RawMessage // what the person filled into Form
	Grant    []Access        // at most this; nil: Access. Narrower where a sandbox holds the call to it, and scheduling then uses it
	Offer    []string        // rules that would have allowed this, smallest first: shown by the asker
	Remember string          // the one the person chose
}

// A Policy judges at once and without I/O, and is called as often as the executor likes. A nil Policy asks about
// everything. The executor shows it the Access of built-in tools only: a tool with an Origin counts as Anything,
// whatever it declares.
type Policy func(Request) Decision

// An Asker asks a person; several questions may be open. When ctx ends the question is withdrawn. A nil Asker
// refuses. An answer with Remember set is judged anew for all open questions.
type Asker func(ctx context.Context, r Request, why Decision) (Decision, error)

// Stricter is the policy that allows only what both allow, and asks where one of them asks.
func Stricter(a, b Policy) Policy {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return func(r Request) Decision {
		x, y := a(r), b(r)
		if y.Verdict < x.Verdict {
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
