// Package openaitest is a server on loopback that speaks the chat completions API, with scripted replies and with the
// faults of real servers. It is for tests.
//
//	s := openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
//		{Calls: []openaitest.Call{{ID: "call_0", Name: "clock", Args: json.RawMessage(`{}`)}}},
//		{Expect: []string{"noon"}, Text: "It is noon.", Faults: openaitest.Faults{Split: 1}},
//	}})
//	m, err := openai.Open(ctx, openai.Options{BaseURL: s.URL})
//
// A story outside Go's tests writes the script as JSON: see [Parse].
package openaitest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/model/internal/scripted"
	"github.com/adze-dev/adze/model/modeltest"
)

// Server plays a script. It is an http.Handler.
type Server = modeltest.Server

// New returns a server that doesn't listen, for a test with its own connections.
func New(s Script) *Server {
	s.Models = scripted.Listed(s.Models)
	return scripted.Play(modeltest.API{
		Base: "/v1", Path: "/chat/completions", Fail: fail, Known: scripted.Bearer(s.Key),
		Other: func(w http.ResponseWriter, r *http.Request, _ string) bool {
			if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/models") {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, modelsJSON(s.Models))
			return true
		},
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

// reply converts the answer for the server.
func (a Answer) reply() modeltest.Reply {
	return modeltest.Reply{
		When: a.When, Until: a.Until, Expect: a.Expect, Absent: a.Absent, Status: a.Status, Header: a.Header,
		Pause: time.Duration(a.Faults.Pause), Cut: a.Faults.Cut, CutBefore: a.Faults.CutBefore, End: a.Faults.End,
		Body: func(int, string) (string, []string) {
			switch {
			case a.Status != 0 && a.Raw == "":
				return "application/json", nil
			case a.Faults.Plain:
				return "application/json", []string{a.plain()}
			case a.Status != 0:
				return "application/json", a.frames()
			}
			return "text/event-stream", a.frames()
		},
	}
}

// fail writes an error in the API's format.
func fail(w http.ResponseWriter, status int, code modeltest.Code, message string) {
	name := map[modeltest.Code]string{
		modeltest.Unauthorized: "invalid_api_key", modeltest.NotServed: "not_found", modeltest.OffScript: "script",
	}[code]
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%s,"type":"invalid_request_error","code":%s}}`, quote(message), quote(name))
}
