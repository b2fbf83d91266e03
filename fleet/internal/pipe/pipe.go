// Package pipe is the protocol between a worker and the child process that runs a task: JSON values on the child's standard
// input and output. The child sends one request at a time, and the worker replies. If the worker exits, so does the child.
package pipe

import (
	"encoding/json"
	"time"

	"github.com/adze-dev/adze/journal"
)

// Begin is the first value that the worker sends.
type Begin struct {
	Session string          `json:"session"` // ID
	Dir     string          `json:"dir"`
	Prompt  string          `json:"prompt"`
	Note    string          `json:"note,omitempty"` // for the model, if the session has begun
	Entries []journal.Entry `json:"entries,omitempty"`
	Model   Model           `json:"model"`
	Turns   int             `json:"turns,omitempty"`
	Wall    time.Duration   `json:"wall,omitempty"`
	Mode    string          `json:"mode,omitempty"`    // approval mode; "": as in the settings
	Sandbox string          `json:"sandbox,omitempty"` // "": as in the settings
	Pass    []string        `json:"pass,omitempty"`    // variables that commands get even if they look like credentials
}

// Model is the model as the child sees it: behind the worker's gateway.
type Model struct {
	API      string                     `json:"api"`
	Name     string                     `json:"name"`
	URL      string                     `json:"url"`
	Token    string                     `json:"token"` // only valid for this task, at the gateway
	Sampling map[string]json.RawMessage `json:"sampling,omitempty"`
	Extra    map[string]json.RawMessage `json:"extra,omitempty"`
}

// Request is a request of the child: exactly one field is set.
type Request struct {
	Append *journal.Entry `json:"append,omitempty"`
	Put    []byte         `json:"put,omitempty"` // a content for the store
	Get    *journal.Ref   `json:"get,omitempty"`
	End    *End           `json:"end,omitempty"`
}

// Reply answers a request.
type Reply struct {
	Data  []byte `json:"data,omitempty"`
	Error string `json:"error,omitempty"`
}

// Why is how the work ended.
type Why string

// The ways to end.
const (
	Finished Why = "finished" // the model gave its last answer
	Limit    Why = "limit"    // turns, calls or tokens
	Timeout  Why = "timeout"  // wall time
	Failed   Why = "failed"   // the model or the session failed
)

// End is the last request of a child.
type End struct {
	Why    Why    `json:"why"`
	Error  string `json:"error,omitempty"`
	Text   string `json:"text,omitempty"` // the model's last message
	Turns  int    `json:"turns"`
	Denied int    `json:"denied"` // calls
}
