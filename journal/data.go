package journal

import (
	"encoding/json"
	"fmt"

	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Type is the kind of an entry. Readers skip the types that they don't know.
type Type string

// The types. The comments name the types of the data.
const (
	TypeOpened    Type = "session.opened"  // Opened: always the first entry
	TypeResumed   Type = "session.resumed" // Resumed
	TypeMessage   Type = "message"         // Message
	TypeCalled    Type = "called"          // Called
	TypeTried     Type = "call.tried"      // Tried
	TypeStarted   Type = "call.started"    // Started
	TypeFinished  Type = "call.finished"   // Finished
	TypeAsked     Type = "asked"           // Asked
	TypeAnswer    Type = "answer"          // Answer
	TypeResponses Type = "responses"       // Responses
	TypeMode      Type = "mode"            // Mode
	TypeModel     Type = "model"           // Model
	TypeNamed     Type = "named"           // Named
	TypeCompacted Type = "compacted"       // Compacted
	TypeChanged   Type = "changed"         // Changed
	TypeUndone    Type = "undone"          // Undone
	TypeClosed    Type = "session.closed"  // Closed
)

// Data is the data of an entry: one of the structs of this file, as a value.
type Data interface{ Type() Type }

// Extra has the members of an object that this version of Adze doesn't know, such as those of a later version. They are
// written again with the object.
type Extra struct {
	Unknown string `json:"-"` // as JSON, without braces
}

// Opened is the start of a session. System and Declarations come last, because they are long: a list of sessions reads
// only the start of the file.
type Opened struct {
	ID      string   `json:"id"`
	CWD     string   `json:"cwd"`
	Roots   []string `json:"roots,omitempty"`
	Version string   `json:"version,omitempty"` // of Adze
	Model   string   `json:"model,omitempty"`
	Mode    string   `json:"mode,omitempty"`
	Parent  *Parent  `json:"parent,omitempty"` // of a fork
	System  string   `json:"system,omitempty"`
	// of tools whose declarations are loaded later; the system prompt ends with it
	Listing      string        `json:"listing,omitempty"`
	Declarations []Declaration `json:"declarations,omitempty"`
	Extra
}

// Parent is where a fork starts: the entries up to Seq are from the other session.
type Parent struct {
	ID  string `json:"id"`
	Seq int64  `json:"seq"`
	Extra
}

// Declaration is a tool as it was declared to the model.
type Declaration struct {
	Name        string          `json:"name"`
	Title       string          `json:"displayName,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
	Kind        tool.Kind       `json:"kind,omitempty"`
	Origin      string          `json:"source,omitempty"` // "" built in
	Extra
}

// Declare returns the declarations for the journal.
func Declare(tools []tool.Declaration) []Declaration {
	out := make([]Declaration, len(tools))
	for i, d := range tools {
		out[i] = Declaration{
			Name: d.Name, Title: d.DisplayName, Description: d.Description, Parameters: d.Parameters, Kind: d.Kind,
			Origin: d.Origin,
		}
	}
	return out
}

// Tool returns the declaration for a request to a model.
func (d Declaration) Tool() tool.Declaration {
	return tool.Declaration{
		Name: d.Name, DisplayName: d.Title, Description: d.Description, Parameters: d.Parameters, Kind: d.Kind,
		Origin: d.Origin,
	}
}

// Resumed reports that the session continues in another process. Empty fields are unchanged.
type Resumed struct {
	CWD     string   `json:"cwd,omitempty"`
	Roots   []string `json:"roots,omitempty"`
	Version string   `json:"version,omitempty"`
	Model   string   `json:"model,omitempty"`
	Mode    string   `json:"mode,omitempty"`
	Extra
}

// Message is a message of the history that isn't an answer or responses.
type Message struct {
	Kind    MessageKind   `json:"kind,omitempty"` // "": a prompt
	Message model.Message `json:"message"`
	Extra
}

// MessageKind is the origin of a message.
type MessageKind string

// The kinds of messages.
const (
	Prompt MessageKind = ""     // from the user
	News   MessageKind = "news" // from Adze: changed files, finished subagents, a new date
)

// Called is a call as the model requested it. Calls start before their answer ends.
type Called struct {
	Turn int        `json:"turn,omitempty"`
	Call model.Call `json:"call"`
	Extra
}

// Tried reports that a call is about to be tried, without lasting effects. If its effects are kept, or if it has none,
// Started and Finished follow.
type Tried struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args,omitempty"`
	Access   []tool.Access   `json:"access,omitempty"`
	Decision Decision        `json:"decision"` // why it wasn't allowed without a trial
	Extra
}

// Started reports that a call is about to run, with the arguments as they run.
type Started struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args,omitempty"`
	Access   []tool.Access   `json:"access,omitempty"`
	Decision Decision        `json:"decision"`
	About    string          `json:"about,omitempty"` // what the call does, as the user saw it
	Extra
}

// Decision is why a call was allowed to run.
type Decision struct {
	Verdict string        `json:"verdict"`
	Cause   tool.Cause    `json:"cause"`
	Reason  string        `json:"reason,omitempty"`
	Grant   []tool.Access `json:"grant,omitempty"`
	Extra
}

// Decided returns a decision for the journal.
func Decided(d tool.Decision) Decision {
	return Decision{Verdict: d.Verdict.String(), Cause: d.Cause, Reason: d.Reason, Grant: d.Grant}
}

// Finished is the outcome of a call. A call that was denied or failed its checks is finished without being started.
type Finished struct {
	ID      string          `json:"id"`
	Outcome Outcome         `json:"outcome"`
	Seen    []Seen          `json:"seen,omitempty"`    // what is known about each file that the call read or wrote
	Changes []Change        `json:"changes,omitempty"` // files that the call changed
	Unsaved []Unsaved       `json:"unsaved,omitempty"` // other changes, which can't be undone
	Running bool            `json:"running,omitempty"` // a background command of the call is running
	Todos   json.RawMessage `json:"todos,omitempty"`   // the agent's to-do list, if the call changed it
	Plan    string          `json:"plan,omitempty"`    // that the user approved last
	Jobs    []Job           `json:"jobs,omitempty"`    // background commands of the session that are running now
	Extra
}

// Job is a background command.
type Job struct {
	ID      string `json:"id"`
	Command string `json:"command"` // in one line
	Extra
}

// Outcome is a [tool.Outcome] without its call.
type Outcome struct {
	Name   string      `json:"name"`
	Status tool.Status `json:"status"`
	Result tool.Result `json:"result"`
	Error  *Failure    `json:"error,omitempty"`
	MS     int64       `json:"ms"`
	Extra
}

// Failure is a [tool.Failure] with its text for the model.
type Failure struct {
	Type    tool.ErrorType `json:"type"`
	Message string         `json:"message"`
	Model   string         `json:"model,omitempty"`
	Extra
}

// Ended returns an outcome for the journal. It has the diff of a long file and not the contents, which undo has.
func Ended(o tool.Outcome) Outcome {
	out := Outcome{Name: o.Name, Status: o.Status, Result: o.Result, MS: o.Duration.Milliseconds()}
	if d, ok := o.Result.Display.(tool.FileDiff); ok && d.Diff != "" &&
		(len(d.New) > MaxText || d.Original != nil && len(*d.Original) > MaxText) {
		d.Original, d.New = nil, ""
		out.Result.Display = d
	}
	if o.Error != nil {
		out.Error = &Failure{Type: o.Error.Type, Message: o.Error.Message, Model: o.Error.Model}
	}
	return out
}

// Seen records what an agent has read of a file.
type Seen struct {
	Path   string   `json:"path"`
	Hash   string   `json:"hash,omitempty"` // SHA-256 of the content, in hex
	Lines  int      `json:"lines,omitempty"`
	Whole  bool     `json:"whole,omitempty"`
	Opaque bool     `json:"opaque,omitempty"` // read, but not as text
	Read   [][2]int `json:"read,omitempty"`   // first and last line of each range, if not whole
	Extra
}

// Change is a path that a call changed. Before and After are "sha256:…" for a file with that content, "link:…" for a
// link to that target, "dir" for a directory, "" for nothing. A path that isn't valid UTF-8 is quoted, as in Go.
type Change struct {
	Path      string `json:"path"`
	Before    string `json:"before,omitempty"`
	After     string `json:"after,omitempty"`
	Mode      uint32 `json:"mode,omitempty"`      // permission bits before
	ModeAfter uint32 `json:"modeAfter,omitempty"` // permission bits after
	Extra
}

// Unsaved is a path that a call changed, or may have changed, and that can't be restored.
type Unsaved struct {
	Path string `json:"path"`
	Why  string `json:"why"`
	Extra
}

// Changed reports changes of a background command since the last report. ID is the call that started it.
type Changed struct {
	ID      string    `json:"id"`
	Changes []Change  `json:"changes"`
	Unsaved []Unsaved `json:"unsaved,omitempty"`
	Ended   bool      `json:"ended,omitempty"` // the command has ended: nothing follows
	Extra
}

// Asked is a request to the model.
type Asked struct {
	Turn     int           `json:"turn"`
	Model    string        `json:"model,omitempty"`
	Declared []Declaration `json:"declared,omitempty"` // tools that are declared from this request on
	Extra
}

// Answer is the model's answer, complete or cut off by Error.
type Answer struct {
	Turn    int           `json:"turn"`
	Turns   int           `json:"turns,omitempty"` // answers of the agent so far; [Writer] sets it
	Model   string        `json:"model,omitempty"` // that answered; [Writer] sets it
	Name    string        `json:"name,omitempty"`  // of the session; [Writer] sets it
	Usage   model.Usage   `json:"usage"`
	Reason  model.Reason  `json:"reason,omitempty"`
	MS      int64         `json:"ms"`
	Error   string        `json:"error,omitempty"`
	Message model.Message `json:"message"`
	Extra
}

// Responses are the results of an answer's calls, as the model receives them.
type Responses struct {
	Turn    int           `json:"turn"`
	Message model.Message `json:"message"`
	Extra
}

// Mode is a change of the approval mode.
type Mode struct {
	Mode string `json:"mode"`
	Extra
}

// Model is a change of the model.
type Model struct {
	Model string `json:"model"`
	Extra
}

// Named is the name that the user gave the session; "" removes it.
type Named struct {
	Name string `json:"name"`
	Extra
}

// Compacted reports that Messages replace the history. Snapshot is the rest of the state, so that nothing before this
// entry has to be read. [Writer] sets Turns, Model, Name and Snapshot.
type Compacted struct {
	Turns    int             `json:"turns,omitempty"` // for lists of sessions, as are Model and Name
	Model    string          `json:"model,omitempty"`
	Name     string          `json:"name,omitempty"`
	Snapshot *Snapshot       `json:"snapshot,omitempty"`
	Prompts  []model.Message `json:"prompts,omitempty"` // the user's, that the messages have or quote
	Messages []model.Message `json:"messages"`
	Extra
}

// Undone reports what was undone: files, the conversation, or both. It removes no entry.
type Undone struct {
	To int64 `json:"to,omitempty"` // later entries no longer count as conversation; 0: all count
	// Calls are the entries whose changes were undone, or done again.
	Calls   []int64  `json:"calls,omitempty"`
	Changes []Change `json:"changes,omitempty"` // the resulting changes
	Begun   bool     `json:"begun,omitempty"`   // started: another entry follows when it is complete
	Partial bool     `json:"partial,omitempty"` // some paths were skipped
	Redo    int64    `json:"redo,omitempty"`    // the Undone that this one reverts
	Extra
}

// Closed is the regular end of a session.
type Closed struct {
	Turns int         `json:"turns"`
	Model string      `json:"model,omitempty"`
	Name  string      `json:"name,omitempty"` // [Writer] sets it
	Usage model.Usage `json:"usage"`
	Extra
}

// Type of each entry's data.
func (Opened) Type() Type    { return TypeOpened }
func (Resumed) Type() Type   { return TypeResumed }
func (Message) Type() Type   { return TypeMessage }
func (Called) Type() Type    { return TypeCalled }
func (Tried) Type() Type     { return TypeTried }
func (Started) Type() Type   { return TypeStarted }
func (Finished) Type() Type  { return TypeFinished }
func (Asked) Type() Type     { return TypeAsked }
func (Answer) Type() Type    { return TypeAnswer }
func (Responses) Type() Type { return TypeResponses }
func (Mode) Type() Type      { return TypeMode }
func (Model) Type() Type     { return TypeModel }
func (Named) Type() Type     { return TypeNamed }
func (Compacted) Type() Type { return TypeCompacted }
func (Changed) Type() Type   { return TypeChanged }
func (Undone) Type() Type    { return TypeUndone }
func (Closed) Type() Type    { return TypeClosed }

// Decode returns the entry's data, with texts and media from the store. It returns nil for an unknown type.
func Decode(e Entry, blobs Blobs) (Data, error) {
	data, lost, err := Recover(e, blobs)
	if err == nil && lost.Err != nil {
		return nil, e.invalid(lost.Err)
	}
	return data, err
}

// invalid returns the error of an entry whose data can't be read.
func (e Entry) invalid(err error) error { return fmt.Errorf("entry %d (%s): %w", e.Seq, e.Type, err) }

// Recover is like Decode for an entry with contents that are missing in the store: a sentence replaces a text or a
// picture, and other values are empty.
func Recover(e Entry, blobs Blobs) (Data, Lost, error) {
	raw, lost, err := unpackRest(e.Data, blobs)
	if err != nil {
		return nil, lost, e.invalid(err)
	}
	data, err := decode(e.Type, raw)
	if err != nil {
		return nil, lost, e.invalid(err)
	}
	return recovered(data, lost), lost, nil
}

// Resolve returns the entry with texts and media from the store in place of references to it.
func Resolve(e Entry, blobs Blobs) (Entry, error) {
	raw, err := unpack(e.Data, blobs)
	if err != nil {
		return e, e.invalid(err)
	}
	e.Data = raw
	return e, nil
}
