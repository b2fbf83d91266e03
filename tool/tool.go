// Package tool is the contract between a model and what it may do: tools, the calls a model makes of them,
// and the executor that takes a call from its name to its result.
//
// A tool is declared with [Define], held by a [Registry], and run by an [Executor]:
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
// Nothing runnable exists before its arguments were checked; what a person was shown is what runs, because both
// come from one Prepare; and no tool decides for itself whether it may: it declares what it touches, a [Policy]
// judges, and the executor asks. The package imports nothing but the standard library and knows no concrete tool.
package tool

import (
	"context"
	"encoding/json"
	"strings"
)

// A Tool is something a model may call by name.
type Tool interface {
	// Declaration never changes; a changed tool is a new Tool.
	Declaration() Declaration
	// Prepare checks args and works out what the call would do. It changes nothing, is quick, and may be called
	// several times for one call: what is shown and run is always prepared after every earlier call that touches
	// the same things has ended. With an error it still returns an Invocation holding the Access it knows: the
	// error may be about a passing state (then Prepare is called again), and the model is told of it only if
	// policy lets it read those targets. A *ParamError is final.
	Prepare(ctx context.Context, args json.RawMessage) (*Invocation, error)
}

// Kind says what sort of thing a tool does: an upper bound that is known before Prepare.
type Kind string

// The kinds. A tool of kind Read, Search or Think never writes a file or runs a command; the executor refuses one
// that tries.
const (
	Read    Kind = "read"
	Search  Kind = "search"
	Edit    Kind = "edit"
	Execute Kind = "execute"
	Fetch   Kind = "fetch"
	Think   Kind = "think"
	Other   Kind = "other"
)

// Declaration is all that others need to know of a tool, so that nobody keeps a list of tool names.
type Declaration struct {
	Name        string          // what the model calls
	DisplayName string          // what people read; Name if empty
	Summary     string          // one line for lists that people read; see Brief
	Description string          // for the model
	Parameters  json.RawMessage // JSON Schema of an object
	Kind        Kind            // Other if empty
	Aliases     []string        // other names that calls and rules may use
	Origin      string          // "" built in, "mcp:github", "command": rules, trust and approval hashes hang on it
	Fingerprint string          // of a tool from outside: of what runs it and all that is told of it. A yes for good is to this
	Deferred    bool            // not declared to the model until someone reveals it
	Budget      int             // characters of text for the model; 0 the executor's, <0 the tool sees to it itself
	RuleNames   []string        // names that other agents use for it ("Bash"), accepted in permission rules and, in any letter case, in calls
	Needs       Need            // what must be there beside the executor; empty: nothing, so that it can be offered to other programs
}

// Need is what a tool cannot do its work without.
type Need string

// The needs.
const (
	NeedsPerson  Need = "person"  // somebody who answers
	NeedsModel   Need = "model"   // a model to give work to
	NeedsSession Need = "session" // a conversation that goes on and is told of it
)

// MarshalJSON writes the declaration under the documented names.
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

// Title is the name people read.
func (d Declaration) Title() string {
	if d.DisplayName != "" {
		return d.DisplayName
	}
	return d.Name
}

// Brief is one line for lists that people read: the summary, or the first sentence of the description.
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
