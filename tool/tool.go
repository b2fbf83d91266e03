// Package tool defines tools, the calls that a model makes, and the executor that takes a call from its name to its
// result.
//
// A tool is declared with [Define], registered in a [Registry], and run by an [Executor]:
//
//	clock := tool.Define(tool.Def[struct{}]{
//		Name: "clock", Description: "Tells the time.", Kind: tool.Think,
//		Prepare: func(ctx context.Context, _ struct{}) (*tool.Invocation, error) {
//			return &tool.Invocation{
//				Access: []tool.Access{tool.Nothing},
//				Run: func(context.Context, *tool.Live) (tool.Result, error) {
//					return tool.TextResult(time.Now().String()), nil
//				},
//			}, nil
//		},
//	})
//
// Arguments are checked before anything runs. What the user approved is what runs, because both come from one Prepare. No
// tool decides whether it may run: it declares its access, a [Policy] judges it, and the executor asks the user. The
// package imports only the standard library and knows no concrete tool.
package tool

import (
	"context"
	"encoding/json"
	"strings"
)

// A Tool can be called by a model, by name.
type Tool interface {
	// Declaration returns the same value every time; a changed tool is a new Tool.
	Declaration() Declaration
	// Prepare checks args and determines what the call would do. It changes nothing, is quick, and can be called several
	// times for one call: what is shown and run is always prepared after every conflicting earlier call has ended. With
	// an error it still returns an Invocation with the Access it knows: the error may be temporary (then Prepare is
	// called again), and the model sees it only if policy lets it read those targets. A *ParamError is final.
	Prepare(ctx context.Context, args json.RawMessage) (*Invocation, error)
}

// Kind classifies what a tool does: an upper bound that is known before Prepare.
type Kind string

// The kinds. A tool of kind Read, Search or Think never writes a file or runs a command; the executor rejects one that
// tries.
const (
	Read    Kind = "read"
	Search  Kind = "search"
	Edit    Kind = "edit"
	Execute Kind = "execute"
	Fetch   Kind = "fetch"
	Think   Kind = "think"
	Other   Kind = "other"
)

// Declaration is the metadata of a tool. Code depends on it instead of lists of tool names.
type Declaration struct {
	Name        string          // what the model calls
	DisplayName string          // name for users; Name if empty
	Summary     string          // one line for lists that users read; see Brief
	Description string          // for the model
	Parameters  json.RawMessage // JSON Schema of an object
	Kind        Kind            // Other if empty
	Aliases     []string        // other names that the model can call it by
	Origin      string          // "" built in, "mcp:github", "command"; rules, trust and approvals depend on it
	Fingerprint string          // of an external tool: a hash of its command and declaration. Saved approvals apply to this exact version
	Deferred    bool            // not declared to the model until it is revealed
	Budget      int             // maximum characters of text for the model; 0: the executor's, <0: the tool limits its own text
	RuleNames   []string        // names that other agents use for it ("Bash"), accepted in permission rules and, in any letter case, in calls
	Needs       Need            // what it requires besides the executor; empty: nothing, so that it can be served to other programs
	Polls       bool            // calls wait for something: repeating one that brought nothing new is no mistake
	Personal    bool            // belongs to the conversation between the user and the first agent: subagents don't have it
	Auxiliary   bool            // only serves other tools or the session: a list of a session's tools need not name it
}

// Need is what a tool requires to work.
type Need string

// The needs.
const (
	NeedsUser    Need = "user"    // a user who answers
	NeedsModel   Need = "model"   // a model for subagents
	NeedsSession Need = "session" // an ongoing conversation
)

// MarshalJSON writes the declaration with the documented names.
func (d Declaration) MarshalJSON() ([]byte, error) {
	source := d.Origin
	if source == "" {
		source = "builtin"
	}
	aliases := d.Aliases
	if aliases == nil {
		aliases = []string{}
	}
	return marshal(struct {
		Name        string          `json:"name"`
		DisplayName string          `json:"displayName"`
		Summary     string          `json:"summary,omitempty"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parametersJsonSchema"`
		Kind        Kind            `json:"kind"`
		Aliases     []string        `json:"aliases"`
		Source      string          `json:"source"`
	}{d.Name, d.Title(), d.Summary, d.Description, d.Parameters, d.kind(), aliases, source})
}

// Title returns the name for users.
func (d Declaration) Title() string {
	if d.DisplayName != "" {
		return d.DisplayName
	}
	return d.Name
}

// Brief is one line for lists that users read: the summary, or the first sentence of the description.
func (d Declaration) Brief() string {
	if d.Summary != "" {
		return d.Summary
	}
	sentence, _, _ := strings.Cut(strings.Join(strings.Fields(d.Description), " "), ". ")
	return strings.TrimSuffix(sentence, ".")
}

func (d Declaration) kind() Kind {
	if d.Kind == "" {
		return Other
	}
	return d.Kind
}
