// Package tool defines tools, the calls that a model makes, and the executor that takes a call from its name to its
// result. It imports only the standard library and knows no concrete tool.
//
// # Declare a tool
//
// [Define] makes a [Tool] of a struct of parameters and a function. The JSON Schema comes from the struct, and
// arguments are checked against it before anything runs:
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
// Prepare changes nothing. It returns an [Invocation]: what the call will do, in one line for the user; its [Access],
// such as the paths that it reads and writes; and Run. What the user approved is what runs, because both come from one
// Prepare.
//
// # Run calls
//
// A [Registry] has the tools. An [Executor] runs calls in batches, the calls of one answer of a model:
//
//	x := &tool.Executor{Registry: tool.NewRegistry(clock), Policy: policy, Ask: ask}
//	batch := x.Batch(ctx)
//	batch.Add(tool.Call{Name: "clock", Args: json.RawMessage("{}")})
//	for _, outcome := range batch.Wait() {
//		fmt.Println(outcome.Status, outcome.Result.Text())
//	}
//
// Calls run at the same time unless one writes what another one uses.
//
// # Permissions
//
// No tool decides whether it may run. It declares its access, a [Policy] decides (package permission has one), and
// where the [Decision] is Ask, the executor calls the [Asker] of the front end. Without an Asker such a call is denied.
//
// # Results and errors
//
// A [Result] has the parts for the model and a [Display] for the user. The executor cuts texts that are too long.
// [Errorf] and [BadParam] make errors whose [ErrorType] is documented; the model reads their text, so it says what to
// do next.
//
// Package tooltest checks that a tool keeps this contract.
package tool

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// A Tool can be called by a model, by name.
type Tool interface {
	// Declaration returns the same value every time; a changed tool is a new Tool.
	Declaration() Declaration
	// Prepare checks args and determines what the call would do. It changes nothing, is quick, and can be called
	// several times for one call: what is shown and run is always prepared after every conflicting earlier call has
	// ended. With an error it still returns an Invocation with the Access it knows: the error may be temporary (then
	// Prepare is called again), and the model sees it only if policy lets it read those targets. A *ParamError is
	// final.
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
	// of an external tool: a hash of its command and declaration. Saved approvals apply to this exact version
	Fingerprint string
	Deferred    bool // not declared to the model until it is revealed
	// maximum characters of text for the model; 0: the executor's, <0: the tool limits its own text
	Budget int
	// names that other agents use for it ("Bash"), accepted in permission rules and, in any letter case, in calls
	RuleNames []string
	// what it requires besides the executor; empty: nothing, so that it can be served to other programs
	Needs Need
	Polls bool // calls wait for something, so repeating one without a new result is not a mistake
	// belongs to the conversation between the user and the first agent: subagents don't have it
	Personal bool
	// only serves other tools or the session, so that lists of a session's tools can omit it
	Auxiliary bool
	// of a tool that edits files: models are trained on one dialect, and only that tool is declared. Empty: all are
	Dialect Dialect
	// a Lark grammar of the only argument, a string, for APIs that take it as text instead of JSON; may be empty
	Grammar string
}

// Dialect is how a model writes an edit.
type Dialect string

// The dialects. Tools of another one than ReplaceDialect are deferred: they can be called, and are declared if the
// model prefers it.
const (
	ReplaceDialect Dialect = "replace"
	PatchDialect   Dialect = "patch"
	AnchorDialect  Dialect = "anchors"
)

// Known reports whether d is one of the dialects.
func (d Dialect) Known() bool { return d == ReplaceDialect || d == PatchDialect || d == AnchorDialect }

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
	return humanize.JSON(struct {
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

// Brief returns one line for lists that users read: the summary, or the first sentence of the description.
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

// An Invocation is one checked call. Without Run it is plain data, and can be a question: see [Live].Ask.
type Invocation struct {
	// one line for users: "edit main.go"; the executor removes line breaks and invisible characters
	Description string
	Access      []Access        // what policy and scheduling depend on; empty: Anything
	Confirm     Display         // what the user sees in the permission prompt; nil: Description
	Form        json.RawMessage // schema of an answer other than yes or no (flat, as in MCP elicitation); nil: none
	MustAsk     bool            // only the user can approve it, whatever the policy says
	Notes       []string        // for the model, added to any result as "Note:" lines
	// Replaces are the parts of files that an edit needs and changes. Calls of one turn that change what another needs
	// are rejected together.
	Replaces []Replaced `json:"-"`
	// Rework returns the arguments with which the call would use texts that the user edited before approving it,
	// through Decision.Args: a command (Command.Line), or the content of each file (FileDiff.New; nil: as it was).
	// A nil Rework: the texts can't be edited.
	Rework func(texts ...*string) json.RawMessage `json:"-"`
	// Run executes the call. It checks that what Prepare saw is still true. A Result returned with an error is kept,
	// since partial output helps. Run returns soon after ctx ends.
	Run func(ctx context.Context, l *Live) (Result, error) `json:"-"`
	// Trial runs the call without lasting effects; nil means it can't be tried. It is called at most twice for a call,
	// and only where Decision.Try allows it. An error without a Tried means that it can't be tried: then the user is
	// asked as if there were no Trial, with the reason unless errors.ErrUnsupported is in the error's chain.
	Trial func(ctx context.Context, l *Live) (*Tried, error) `json:"-"`
}

// Replaced is a part of a file's text before an edit, in bytes.
type Replaced struct {
	Path       string
	Start, End int
	Changed    bool // otherwise it is only needed
}

// Disturbs reports whether an edit changes what another one of the same text needs.
func (i *Invocation) Disturbs(other *Invocation) bool {
	return slices.ContainsFunc(i.Replaces, func(a Replaced) bool {
		return a.Changed && slices.ContainsFunc(other.Replaces, func(b Replaced) bool {
			return a.Path == b.Path && a.Start < b.End && b.Start < a.End
		})
	})
}

// Tried is a call that ran without lasting effects. Run keeps exactly the effects that Access and Confirm describe, all
// or none.
type Tried struct {
	// Access: what keeping would write, or Nothing; Confirm: the effects; Run: keeps all or none
	Invocation
	// discards the effects and returns what the call did; the executor adds why nothing was kept
	Drop func() Result
}

// Live gives a running call access to its environment.
type Live struct {
	Call     Call
	Decision Decision // what was granted and answered; the sandbox enforces Decision.Grant
	// Show replaces the display. It never blocks, keeps only the newest, and does nothing after Run.
	Show func(Display)
	// Ask asks a question that Prepare could not foresee: an elicitation, a retry outside the sandbox. It goes through
	// the same policy; q.Access is the additional access (Nothing for a plain question). It extends permissions, not
	// the order of calls.
	Ask func(ctx context.Context, q Invocation) (Decision, error)

	entry *scheduledCall // its position in the order, and its slot
}

// Verb is how a call uses a target.
type Verb string

// The verbs. Reads and Writes apply to paths. Execs applies to a command, which may write anything. Reaches applies to
// a host and does not affect the order of calls. Locks applies to a name in this session: it orders calls, and policy
// always allows it.
const (
	Reads   Verb = "reads"
	Writes  Verb = "writes"
	Execs   Verb = "execs"
	Reaches Verb = "reaches"
	Locks   Verb = "holds"
)

// Access is one resource that a call uses. Calls of a batch behave as if run one by one in order; they overlap where
// none writes what another uses.
type Access struct {
	Verb Verb `json:"verb"`
	// resolved absolute path, "dir/" for everything below it; the whole command; host; "todos"; "*" for all
	Target string `json:"target"`
}

var (
	// Nothing is the access of a call without effects, or of one that delegates to calls that are judged themselves.
	Nothing = Access{"nothing", ""}
	// Anything is the access of a call with unknown effects, such as an MCP tool's: denied in plan mode, otherwise it
	// requires approval. It runs alone.
	Anything = Access{"anything", "*"}
)

// someName is the lock on a name that is not known yet.
var someName = Access{Locks, ""}

// Changes reports whether the access may modify something outside the session.
func (a Access) Changes() bool {
	switch a.Verb {
	case Reads, Reaches, Locks, Nothing.Verb:
		return false
	}
	return true // Writes, Execs, Anything, and unknown verbs
}

func changes(as []Access) bool {
	for _, a := range as {
		if a.Changes() {
			return true
		}
	}
	return false
}

// orders reports whether a call with this access may affect any other.
func orders(as []Access) bool {
	for _, a := range as {
		if a.Verb != Reads && a.Verb != Reaches && a != Nothing {
			return true
		}
	}
	return false
}

// conflict reports whether two calls must not overlap: one writes what the other uses.
func conflict(as, bs []Access) bool {
	return disturbs(as, bs) || disturbs(bs, as)
}

// disturbs reports whether a call with access as may change what a call with access bs reads.
func disturbs(as, bs []Access) bool {
	for _, a := range as {
		if slices.ContainsFunc(bs, a.disturbs) {
			return true
		}
	}
	return false
}

func (a Access) disturbs(b Access) bool {
	if a == (Access{Locks, "*"}) {
		return true // a change of mode: everything after it is prepared and judged after it
	}
	switch a.Verb {
	case Reads, Reaches, Nothing.Verb:
		return false
	case Locks:
		return b.Verb == Locks && (a.Target == b.Target || b.Target == "*" || a == someName || b == someName) ||
			b.Verb == Anything.Verb
	}
	switch b.Verb {
	case Nothing.Verb:
		return false
	case Reaches, Locks:
		return a.Verb == Anything.Verb // only unknown effects conflict with them
	}
	if a.Verb == Writes && (b.Verb == Reads || b.Verb == Writes) {
		return overlap(a.Target, b.Target)
	}
	return true // Execs and Anything use every path
}

// overlap reports whether two path targets have a path in common.
func overlap(a, b string) bool {
	if a == "*" || b == "*" {
		return true
	}
	return within(a, b) || within(b, a)
}

// within reports whether path is dir, or below it where dir ends with a slash.
func within(path, dir string) bool {
	if path == dir {
		return true
	}
	if !strings.HasSuffix(dir, "/") {
		return false
	}
	return strings.HasPrefix(path, dir) || path == dir[:len(dir)-1]
}

// maxAccess returns the most access that the tool can have, before Prepare has run. It depends on the kind, which the
// executor enforces for built-in tools; an external tool may do anything.
func (d Declaration) maxAccess() []Access {
	if d.Origin != "" {
		return []Access{Anything}
	}
	switch d.kind() {
	case Read, Search:
		return []Access{{Reads, "*"}, {Reaches, "*"}, someName}
	case Edit:
		return []Access{{Writes, "*"}, someName}
	case Think:
		return []Access{{Locks, "*"}}
	}
	return []Access{Anything}
}

// harmless reports whether tools of the kind write no file and run no command.
func (k Kind) harmless() bool {
	return k == Read || k == Search || k == Think
}
