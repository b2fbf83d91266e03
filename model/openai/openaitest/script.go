package openaitest

import (
	"encoding/json"

	"github.com/adze-dev/adze/model/internal/scripted"
	"github.com/adze-dev/adze/model/modeltest"
)

// Script is a server's part of a conversation.
type Script struct {
	Models  []string `json:"models,omitempty"` // models listed by GET /models; nil: "scripted"
	Key     string   `json:"key,omitempty"`    // the required key; "": none may be sent
	Answers []Answer `json:"answers"`          // to POST /chat/completions, one each, in order
	// start again after the last answer; otherwise another request is an error
	Repeat bool `json:"repeat,omitempty"`
}

// Answer is the reply to one request: text and calls of a model, or anything else that a server may send.
type Answer struct {
	// When reserves the answer for a request whose body contains this text, for agents that send requests in no fixed
	// order. It is used once, before answers without When.
	When string `json:"when,omitempty"`
	// Until repeats the answer until a request's body contains this text; that request gets the next answer.
	Until  string   `json:"until,omitempty"`
	Expect []string `json:"expect,omitempty"` // texts that the request's body must contain
	Absent []string `json:"absent,omitempty"` // texts that it must not contain

	Thought string `json:"thought,omitempty"`
	Field   string `json:"field,omitempty"` // where the thought is sent; "": reasoning_content
	Text    string `json:"text,omitempty"`
	Calls   []Call `json:"calls,omitempty"`
	Finish  string `json:"finish,omitempty"` // finish_reason; "": "stop" or "tool_calls"; "none": it is omitted
	Usage   *Usage `json:"usage,omitempty"`

	Faults Faults `json:"faults,omitzero"`

	// Raw is sent instead of an answer: the events of a stream as they are, or the body of another Status.
	Raw    string            `json:"raw,omitempty"`
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
}

// Call is a call that the model makes.
type Call struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"` // a JSON string means its text, for arguments that are not JSON
}

// Usage counts tokens.
type Usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
	Cached int `json:"cached,omitempty"`
}

// Faults are the ways in which servers deviate or fail.
type Faults struct {
	Split int                `json:"split,omitempty"` // bytes in each piece of text and arguments; 0: all at once
	Pause modeltest.Duration `json:"pause,omitempty"` // before each event
	Cut   int                `json:"cut,omitempty"`   // the connection breaks after this many bytes
	// the connection breaks before the first event that contains this text
	CutBefore  string `json:"cutBefore,omitempty"`
	End        int    `json:"end,omitempty"`        // the stream ends normally after this many bytes
	Plain      bool   `json:"plain,omitempty"`      // one JSON object instead of a stream
	NoDone     bool   `json:"noDone,omitempty"`     // no [DONE]
	NoIndex    bool   `json:"noIndex,omitempty"`    // calls without index
	ZeroIndex  bool   `json:"zeroIndex,omitempty"`  // every call has the index 0
	RepeatID   bool   `json:"repeatID,omitempty"`   // the id in every piece
	RepeatName bool   `json:"repeatName,omitempty"` // the name in every piece
	ObjectArgs bool   `json:"objectArgs,omitempty"` // arguments as an object instead of a string
	Again      bool   `json:"again,omitempty"`      // all calls again at the end
	CRLF       bool   `json:"crlf,omitempty"`       // CRLF line endings
	Comments   bool   `json:"comments,omitempty"`   // keep-alive comments between events
}

// Parse reads a script from JSON. Each key of vars, such as "$WORK", is replaced inside strings by its value.
func Parse(data []byte, vars map[string]string) (Script, error) {
	return scripted.Parse[Script](data, vars)
}

// text returns the arguments as the model sends them.
func (c Call) text() string { return scripted.Arguments(c.Args) }
