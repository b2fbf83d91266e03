package tool

import (
	"context"
	"encoding/json"
)

// An Invocation is one checked call. Without Run it is plain data, and can be a question: see [Live].Ask.
type Invocation struct {
	Description string          // one line for users: "edit main.go"; the executor removes line breaks and invisible characters
	Access      []Access        // what policy and scheduling depend on; empty: Anything
	Confirm     Display         // what the user sees in the permission prompt; nil: Description
	Form        json.RawMessage // schema of an answer other than yes or no (flat, as in MCP elicitation); nil: none
	MustAsk     bool            // only the user can approve it, whatever the policy says
	Notes       []string        // for the model, added to any result as "Note:" lines
	// Rework returns the arguments with which the call would use a text that the user edited before approving it, through
	// Decision.Args: the content of a file (FileDiff.New) or a command (Command.Line). Nil: the text can't be edited.
	Rework func(text string) json.RawMessage `json:"-"`
	// Run executes the call. It checks that what Prepare saw is still true. A Result returned with an error is kept, since
	// partial output helps. Run returns soon after ctx ends.
	Run func(ctx context.Context, l *Live) (Result, error) `json:"-"`
	// Trial runs the call where nothing lasts; nil means it can't be tried. It is called at most twice for a call, and only
	// where Decision.Try allows it. An error without a Tried means that it can't be tried: then the user is asked as if
	// there were no Trial, and told why unless errors.ErrUnsupported is in its chain.
	Trial func(ctx context.Context, l *Live) (*Tried, error) `json:"-"`
}

// Tried is a call that was carried out without lasting effects. What was shown is what lands: Run keeps exactly the effects
// that Access and Confirm describe, all or none.
type Tried struct {
	Invocation               // Access: what keeping would write, or Nothing; Confirm: the effects; Run: keeps all or none
	Drop       func() Result // discards it and returns what it did; the executor adds why nothing was kept
}

// Live gives a running call access to its environment.
type Live struct {
	Call     Call
	Decision Decision // what was granted and answered; the sandbox enforces Decision.Grant
	// Show replaces the display. It never blocks, keeps only the newest, and does nothing after Run.
	Show func(Display)
	// Ask asks a question that Prepare could not foresee: an elicitation, a retry outside the sandbox. It goes through
	// the same policy; q.Access is the additional access (Nothing for a plain question). It extends permissions, not the
	// order of calls.
	Ask func(ctx context.Context, q Invocation) (Decision, error)

	entry *entry // its position in the order, and its slot
}
