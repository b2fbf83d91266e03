package tool

import (
	"context"
	"encoding/json"
)

// An Invocation is one checked call. Without Run it is plain data, and a question: see [Live].Ask.
type Invocation struct {
	Description string          // one line for people: "edit main.go"; the executor makes it one visible line
	Access      []Access        // all that policy and scheduling look at; empty means Anything
	Confirm     Display         // what a person is shown if asked; nil: Description
	Form        json.RawMessage // schema of the answer beyond yes or no (flat, as in MCP elicitation); nil: none
	MustAsk     bool            // only a person may say yes; the executor sees to it, whatever the policy says
	Notes       []string        // told to the model after the result, one "Note:" line each, whatever the result is
	// Run does it. It checks that what Prepare saw still holds. A Result beside an error is kept: half an output
	// helps. It returns soon after ctx ends.
	Run func(ctx context.Context, l *Live) (Result, error) `json:"-"`
}

// Live is what a running call may use of its surroundings.
type Live struct {
	Call     Call
	Decision Decision // what was granted and answered; a sandbox is built from Decision.Grant
	// Show replaces the display so far. It never blocks, keeps the newest, and does nothing after Run.
	Show func(Display)
	// Ask puts a question that Prepare could not foresee: an elicitation, a retry outside the sandbox. It goes
	// through the same policy; q.Access is what would be done in addition (Nothing for a mere question). It
	// widens rights, not the order of calls.
	Ask func(ctx context.Context, q Invocation) (Decision, error)

	entry *entry // its place in the order, and its slot
}
