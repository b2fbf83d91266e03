// Package geminitest is a server on loopback that speaks the Gemini API, with scripted answers and with the faults of
// real servers. It rejects the requests that the real one rejects. It is for tests.
//
//	s := geminitest.Serve(t, geminitest.Script{Key: "k", Answers: []geminitest.Answer{
//		{Thought: "I need the time.", Calls: []geminitest.Call{{Name: "clock", Signature: "c2ln"}}},
//		{Expect: []string{"noon", "c2ln"}, Text: "It is noon."},
//	}})
//	// POST s.URL + "/v1beta/models/m:streamGenerateContent?alt=sse"
package geminitest

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
	Models  []string `json:"models,omitempty"` // models listed by GET /v1beta/models; nil: "scripted"
	Key     string   `json:"key,omitempty"`    // the required key, as X-Goog-Api-Key; "": none may be sent
	Answers []Answer `json:"answers"`          // to POST …:streamGenerateContent?alt=sse, one each, in order
	// start again after the last answer; otherwise another request is an error
	Repeat bool `json:"repeat,omitempty"`
}

// Answer is the reply to one request: the parts of a candidate, or anything else that a server may send.
type Answer struct {
	// When reserves the answer for a request whose body contains this text, for agents that send requests in no fixed
	// order. It is used once, before answers without When.
	When   string   `json:"when,omitempty"`
	Expect []string `json:"expect,omitempty"` // texts that the request's body must contain
	Absent []string `json:"absent,omitempty"` // texts that it must not contain

	// The parts, in this order. If any has a signature, the first call of each step must be sent back with one.
	Thought   string `json:"thought,omitempty"`
	Text      string `json:"text,omitempty"`
	Calls     []Call `json:"calls,omitempty"`
	Signature string `json:"signature,omitempty"` // base64, in an empty text at the end

	Finish  string `json:"finish,omitempty"`  // finishReason; "": "STOP"
	Message string `json:"message,omitempty"` // finishMessage, or blockReasonMessage
	Block   string `json:"block,omitempty"`   // blockReason of a prompt that gets no candidate
	Usage   Usage  `json:"usage,omitzero"`
	// Error is the status of an error, such as "UNAVAILABLE", that ends the stream after the parts.
	Error string `json:"error,omitempty"`

	Faults Faults `json:"faults,omitzero"`

	// Raw is sent instead of parts: the events of a stream as they are, or the body of another Status.
	Raw    string            `json:"raw,omitempty"`
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
}

// Call is a call that the model makes.
type Call struct {
	ID        string          `json:"id,omitempty"` // "": the server sends none, as older models do
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args,omitempty"`
	Signature string          `json:"signature,omitempty"` // base64; of parallel calls only the first has one
}

// Usage counts tokens.
type Usage struct {
	Input    int `json:"input"` // including tokens read from the cache
	Output   int `json:"output"`
	Thoughts int `json:"thoughts,omitempty"`
	Cached   int `json:"cached,omitempty"`
}

// Faults are the ways in which servers deviate or fail.
type Faults struct {
	Split    int                `json:"split,omitempty"`    // characters in each text; 0: all at once
	Together bool               `json:"together,omitempty"` // all parts in one event
	SignText bool               `json:"signText,omitempty"` // the signature is in the last piece of the text
	Plain    bool               `json:"plain,omitempty"`    // a list instead of a stream
	Done     bool               `json:"done,omitempty"`     // [DONE] at the end, as some gateways send
	Pause    modeltest.Duration `json:"pause,omitempty"`    // before each event
	Chunk    int                `json:"chunk,omitempty"`    // bytes in each write to the connection; 0: an event
	Cut      int                `json:"cut,omitempty"`      // the connection breaks after this many bytes
	End      int                `json:"end,omitempty"`      // the stream ends normally after this many bytes
	LF       bool               `json:"lf,omitempty"`       // LF line endings; the real server sends two
	Comments bool               `json:"comments,omitempty"` // keep-alive comments between events
}

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
		Path: ":streamGenerateContent", Query: "alt=sse", Known: s.known, Check: s.check, Other: s.other, Fail: fail,
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

func (s Script) known(h http.Header) bool { return h.Get("X-Goog-Api-Key") == s.Key }

// other answers other requests: the list of models, and the number of tokens of a request, at four bytes each.
func (s Script) other(w http.ResponseWriter, r *http.Request, body string) bool {
	var answer any
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/v1beta/models":
		list := []object{}
		for _, m := range s.Models {
			list = append(list, object{
				{"name", "models/" + m}, {"displayName", m}, {"inputTokenLimit", 1048576}, {"outputTokenLimit", 65536},
				{"supportedGenerationMethods", []string{"generateContent", "countTokens"}},
			})
		}
		answer = object{{"models", list}}
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, ":countTokens"):
		answer = object{{"totalTokens", len(body) / 4}}
	default:
		return false
	}
	w.Header().Set("Content-Type", kindJSON)
	scripted.WriteJSON(w, http.StatusOK, answer)
	return true
}

// fail writes an error in the API's format. A wrong key has status 400.
func fail(w http.ResponseWriter, status int, code modeltest.Code, message string) {
	word := "INVALID_ARGUMENT"
	var details []object
	switch code {
	case modeltest.Unauthorized:
		status, message = http.StatusBadRequest, "API key not valid. Please pass a valid API key."
		details = []object{{{"@type", "type.googleapis.com/google.rpc.ErrorInfo"}, {"reason", "API_KEY_INVALID"},
			{"domain", "googleapis.com"}}}
	case modeltest.NotServed:
		word = "NOT_FOUND"
	}
	w.Header().Set("Content-Type", kindJSON)
	scripted.WriteJSON(w, status, failure(status, word, message, details))
}

func failure(status int, word, message string, details []object) object {
	e := object{{"code", status}, {"message", message}, {"status", word}}
	if details != nil {
		e = append(e, scripted.Field{"details", details})
	}
	return object{{"error", e}}
}
