package openaitest

import (
	"encoding/json"

	"github.com/adze-dev/adze/model/internal/scripted"
)

// Script is a server's part of a conversation.
type Script struct {
	Models  []string `json:"models,omitempty"` // what GET /models lists; nil: "scripted"
	Key     string   `json:"key,omitempty"`    // the key demanded; "": none may be sent
	Answers []Answer `json:"answers"`          // to POST /chat/completions, one each, in order
	Repeat  bool     `json:"repeat,omitempty"` // start again after the last answer; otherwise another request is an error
}

// Answer is the reply to one request: words and calls of a model, or anything else that a server may send.
type Answer struct {
	// When keeps the answer for a request with this in its body: where several agents ask at once, their order is
	// not known. It is given once, before those that are for anyone.
	When string `json:"when,omitempty"`
	// Until repeats the answer until a request has this in its body; that request gets the next answer.
	Until  string   `json:"until,omitempty"`
	Expect []string `json:"expect,omitempty"` // what must stand in the request's body
	Absent []string `json:"absent,omitempty"` // what must not

	Thought string `json:"thought,omitempty"`
	Field   string `json:"field,omitempty"` // where the thought is sent; "": reasoning_content
	Text    string `json:"text,omitempty"`
	Calls   []Call `json:"calls,omitempty"`
	Finish  string `json:"finish,omitempty"` // finish_reason; "": "stop" or "tool_calls"; "none": it is left out
	Usage   *Usage `json:"usage,omitempty"`

	Faults Faults `json:"faults,omitzero"`

	// Raw is sent instead of an answer: the events of a stream to the byte, or the body beside another Status.
	Raw    string            `json:"raw,omitempty"`
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
}

// Call is a call that the model makes.
type Call struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"` // a JSON string stands for its text, for arguments that are not JSON
}

// Usage counts tokens.
type Usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
	Cached int `json:"cached,omitempty"`
}

// Faults are the ways in which servers deviate or fail.
type Faults struct {
	Split      int      `json:"split,omitempty"`      // bytes in each piece of text and arguments; 0: all at once
	Pause      Duration `json:"pause,omitempty"`      // before each event
	Cut        int      `json:"cut,omitempty"`        // the connection breaks after so many bytes
	CutBefore  string   `json:"cutBefore,omitempty"`  // the connection breaks in place of the first event with this in it
	End        int      `json:"end,omitempty"`        // the stream ends in good order after so many bytes
	Plain      bool     `json:"plain,omitempty"`      // one JSON object instead of a stream
	NoDone     bool     `json:"noDone,omitempty"`     // no [DONE]
	NoIndex    bool     `json:"noIndex,omitempty"`    // calls without index
	ZeroIndex  bool     `json:"zeroIndex,omitempty"`  // every call has the index 0
	RepeatID   bool     `json:"repeatID,omitempty"`   // the id in every piece
	RepeatName bool     `json:"repeatName,omitempty"` // the name in every piece
	ObjectArgs bool     `json:"objectArgs,omitempty"` // arguments as an object instead of a string
	Again      bool     `json:"again,omitempty"`      // all calls once more at the end
	CRLF       bool     `json:"crlf,omitempty"`       // line ends of two characters
	Comments   bool     `json:"comments,omitempty"`   // keep-alive comments between events
}

// Duration is a time.Duration that JSON writes as "10ms".
type Duration = scripted.Duration

// Parse reads a script from JSON. Each key of vars, such as "$WORK", is replaced inside strings by its value.
func Parse(data []byte, vars map[string]string) (Script, error) {
	return scripted.Parse[Script](data, vars)
}

// text returns what the model says as arguments, to the byte.
func (c Call) text() string { return scripted.Arguments(c.Args) }
