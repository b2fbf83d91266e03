// Package responsestest is a server on loopback that speaks the OpenAI Responses API, with scripted answers and with
// the faults of real servers. It rejects the requests that the real one rejects. It is for tests.
//
//	s := responsestest.Serve(t, responsestest.Script{Key: "k", Answers: []responsestest.Answer{
//		{Thought: "I need the time.", Encrypted: "gAAA",
//			Calls: []responsestest.Call{{ID: "call_1", Name: "clock", Args: json.RawMessage(`{}`)}}},
//		{Expect: []string{"noon"}, Text: "It is noon."},
//	}})
//	// POST s.URL + "/responses"
//
// A request with "stream": true is answered with server-sent events, another one with one object.
package responsestest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/adze-dev/adze/model/internal/scripted"
	"github.com/adze-dev/adze/model/modeltest"
)

// Script is a server's part of a conversation.
type Script struct {
	Models  []string `json:"models,omitempty"` // models listed by GET /models; nil: "scripted"
	Key     string   `json:"key,omitempty"`    // the required key, as a bearer token; "": none may be sent
	Answers []Answer `json:"answers"`          // to POST /responses, one each, in order
	// start again after the last answer; otherwise another request is an error
	Repeat bool `json:"repeat,omitempty"`
}

// Answer is the reply to one request: the items of a response, or anything else that a server may send.
type Answer struct {
	// When reserves the answer for a request whose body contains this text, for agents that send requests in no fixed
	// order. It is used once, before answers without When.
	When   string   `json:"when,omitempty"`
	Expect []string `json:"expect,omitempty"` // texts that the request's body must contain
	Absent []string `json:"absent,omitempty"` // texts that it must not contain

	// The items, in this order.
	Thought string `json:"thought,omitempty"` // summary of the reasoning
	// the reasoning, encrypted: a request may send back only reasoning of the script
	Encrypted string `json:"encrypted,omitempty"`
	Text      string `json:"text,omitempty"`
	Refusal   string `json:"refusal,omitempty"` // the model's refusal, instead of a text
	Phase     string `json:"phase,omitempty"`   // of the message, such as "commentary"
	Calls     []Call `json:"calls,omitempty"`

	Incomplete string `json:"incomplete,omitempty"` // why the response is incomplete, such as "max_output_tokens"
	Error      string `json:"error,omitempty"`      // code of the error that fails the response, such as "server_error"
	Usage      Usage  `json:"usage,omitzero"`

	Faults Faults `json:"faults,omitzero"`

	// Raw is sent instead of a response: the events of a stream as they are, or the body of another Status.
	Raw    string            `json:"raw,omitempty"`
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
}

// Call is a call that the model makes.
type Call struct {
	ID        string          `json:"id"` // call_id
	Namespace string          `json:"namespace,omitempty"`
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args,omitempty"`   // a JSON string means its text, for arguments that are not JSON
	Custom    bool            `json:"custom,omitempty"` // of a custom tool: Args is its input, a text
}

// Usage counts tokens.
type Usage struct {
	Input     int `json:"input"`
	Output    int `json:"output"`
	Cached    int `json:"cached,omitempty"`
	Reasoning int `json:"reasoning,omitempty"`
}

// Faults are the ways in which servers deviate or fail.
type Faults = modeltest.Faults

// Server plays a script. It is an http.Handler.
type Server = modeltest.Server

// Parse reads a script from JSON. Each key of vars, such as "$WORK", is replaced inside strings by its value.
func Parse(data []byte, vars map[string]string) (Script, error) {
	return scripted.Parse[Script](data, vars)
}

// New returns a server that doesn't listen, for a test with its own connections.
func New(s Script) *Server {
	s.Models = scripted.Listed(s.Models)
	return scripted.Play(modeltest.API{
		Base: "/v1", Path: "/responses", Known: scripted.Bearer(s.Key), Check: s.check, Other: s.other, Fail: fail,
	}, s.Repeat, s.Answers, Answer.reply)
}

// Start serves a script on a free port of loopback.
func Start(s Script) (*Server, error) {
	out := New(s)
	return out, out.Start()
}

// Serve serves a script until the test ends, and fails the test if the conversation deviated from the script.
func Serve(t testing.TB, s Script) *Server {
	t.Helper()
	out := New(s)
	out.Serve(t)
	return out
}

// other answers other requests: the list of models.
func (s Script) other(w http.ResponseWriter, r *http.Request, _ string) bool {
	if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/models") {
		return false
	}
	list := []object{}
	for _, m := range s.Models {
		list = append(list, object{{"id", m}, {"object", "model"}, {"created", 1}, {"owned_by", "scripted"}})
	}
	scripted.WriteJSON(w, http.StatusOK, object{{"object", "list"}, {"data", list}})
	return true
}

// fail writes an error in the API's format.
func fail(w http.ResponseWriter, status int, code modeltest.Code, message string) {
	var name any
	if code == modeltest.Unauthorized {
		name = "invalid_api_key"
	}
	scripted.WriteJSON(w, status, object{{"error", object{
		{"message", message}, {"type", "invalid_request_error"}, {"param", nil}, {"code", name},
	}}})
}
