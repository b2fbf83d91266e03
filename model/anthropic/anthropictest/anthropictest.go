// Package anthropictest is a server on loopback that speaks the Anthropic Messages API, with scripted answers and with
// the faults of real servers. It rejects the requests that the real one rejects. It is for tests.
//
//	s := anthropictest.Serve(t, anthropictest.Script{Key: "k", Answers: []anthropictest.Answer{
//		{Thought: "I need the time.", Signature: "sig",
//			Calls: []anthropictest.Call{{ID: "toolu_1", Name: "clock", Args: json.RawMessage(`{}`)}}},
//		{Expect: []string{"noon"}, Text: "It is noon."},
//	}})
//	// POST s.URL + "/v1/messages"
//
// A request with "stream": true is answered with server-sent events, another one with one object.
package anthropictest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/model/internal/scripted"
	"github.com/adze-dev/adze/model/modeltest"
)

// Script is a server's part of a conversation.
type Script struct {
	Models []string `json:"models,omitempty"` // models listed by GET /v1/models; nil: "scripted"
	// the required key, as X-Api-Key or as a bearer token; "": none may be sent
	Key     string   `json:"key,omitempty"`
	Answers []Answer `json:"answers"` // to POST /v1/messages, one each, in order
	// start again after the last answer; otherwise another request is an error
	Repeat bool `json:"repeat,omitempty"`
	// Bound rejects thinking if anything before it has changed since, as newer models do.
	Bound bool `json:"bound,omitempty"`
}

// Answer is the reply to one request: the blocks of a message, or anything else that a server may send.
type Answer struct {
	// When reserves the answer for a request whose body contains this text, for agents that send requests in no fixed
	// order. It is used once, before answers without When.
	When   string   `json:"when,omitempty"`
	Expect []string `json:"expect,omitempty"` // texts that the request's body must contain
	Absent []string `json:"absent,omitempty"` // texts that it must not contain

	// The blocks, in this order.
	Thought string `json:"thought,omitempty"`
	// of the thought: a request may send back only thoughts that the script has
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"` // data of a redacted thought
	Text      string `json:"text,omitempty"`
	Calls     []Call `json:"calls,omitempty"`

	Stop  string `json:"stop,omitempty"` // stop_reason; "": "end_turn" or "tool_use"
	Usage Usage  `json:"usage,omitzero"`
	// Error is the type of an error, such as "overloaded_error", that ends the stream after the blocks.
	Error string `json:"error,omitempty"`

	Faults Faults `json:"faults,omitzero"`

	// Raw is sent instead of a message: the events of a stream as they are, or the body of another Status.
	Raw    string            `json:"raw,omitempty"`
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
}

// Call is a call that the model makes.
type Call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"` // a JSON string means its text, for arguments that are not JSON
}

// Usage counts tokens.
type Usage struct {
	Input      int `json:"input"` // neither read from the cache nor written to it
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
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
	bound := &bindings{before: map[string]string{}}
	check := func(h http.Header, body string) string {
		why := s.check(h, body)
		if why == "" && s.Bound {
			why = bound.check(body)
		}
		return why
	}
	out := modeltest.Script{Repeat: s.Repeat, API: modeltest.API{
		Path: "/v1/messages", Known: s.known, Check: check, Other: s.other, Fail: fail,
	}}
	for _, a := range s.Answers {
		r := a.reply()
		body := r.Body
		r.Body = func(n int, request string) (string, []string) {
			bound.bind(a, request)
			return body(n, request)
		}
		out.Replies = append(out.Replies, r)
	}
	return modeltest.New(out)
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

func (s Script) known(h http.Header) bool {
	given := h.Get("X-Api-Key")
	if given == "" {
		given = strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
	}
	return given == s.Key
}

// other answers other requests: the list of models, and the number of tokens of a request, at four bytes each.
func (s Script) other(w http.ResponseWriter, r *http.Request, body string) bool {
	var answer any
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/v1/models":
		type entry struct {
			Type    string    `json:"type"`
			ID      string    `json:"id"`
			Name    string    `json:"display_name"`
			Created time.Time `json:"created_at"`
		}
		list := []entry{}
		for _, m := range s.Models {
			list = append(list, entry{"model", m, m, time.Unix(1, 0).UTC()})
		}
		answer = map[string]any{
			"data": list, "has_more": false, "first_id": s.Models[0], "last_id": s.Models[len(s.Models)-1],
		}
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages/count_tokens":
		answer = map[string]int{"input_tokens": len(body) / 4}
	default:
		return false
	}
	scripted.WriteJSON(w, http.StatusOK, answer)
	return true
}

// fail writes an error in the API's format.
func fail(w http.ResponseWriter, status int, code modeltest.Code, message string) {
	kind := "invalid_request_error"
	switch code {
	case modeltest.Unauthorized:
		kind, message = "authentication_error", "invalid x-api-key"
	case modeltest.NotServed:
		kind = "not_found_error"
	}
	scripted.WriteJSON(w, status, failure(kind, message))
}

func failure(kind, message string) object {
	return object{{"type", "error"}, {"error", object{{"type", kind}, {"message", message}}}}
}
