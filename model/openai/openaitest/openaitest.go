// Package openaitest is a server on loopback that speaks the chat completions wire to the byte, with scripted
// replies and with the faults of real servers. It is for tests.
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
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server plays a script. It is an http.Handler.
type Server struct {
	URL    string // base URL, if it was started
	script Script

	mu       sync.Mutex
	requests []Request
	errs     []error
	next     int
	kept     []Answer // those with a When that were not given yet

	http *http.Server
	quit chan struct{}
}

// Request is what a client sent.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         string
}

// New gives a server that listens nowhere, for a test that brings its own connections.
func New(s Script) *Server {
	if s.Models == nil {
		s.Models = []string{"scripted"}
	}
	out := &Server{script: s, quit: make(chan struct{})}
	for _, a := range s.Answers {
		if a.When != "" {
			out.kept = append(out.kept, a)
		}
	}
	out.script.Answers = slices.DeleteFunc(slices.Clone(s.Answers), func(a Answer) bool { return a.When != "" })
	return out
}

// Start serves a script on a free port of loopback.
func Start(s Script) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	out := New(s)
	out.URL = "http://" + l.Addr().String() + "/v1"
	out.http = &http.Server{Handler: out, ReadHeaderTimeout: time.Minute}
	go func() { _ = out.http.Serve(l) }() // it ends with Close and says so
	return out, nil
}

// Serve serves a script until the test ends, and fails the test if the conversation was not the script's.
func Serve(t testing.TB, s Script) *Server {
	t.Helper()
	out, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		out.Close()
		if err := out.Err(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	return out
}

// Close breaks off all connections and stops listening.
func (s *Server) Close() {
	close(s.quit)
	if s.http != nil {
		_ = s.http.Close() // nothing is lost by an error here
	}
}

// Requests are those that came so far, those for /models too.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Err says what was not as the script has it: an expectation that did not hold, a request too many, or, after all
// is done, an answer that nobody asked for.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := slices.Clone(s.errs)
	if n := len(s.script.Answers); s.next < n && !s.script.Repeat {
		errs = append(errs, fmt.Errorf("the script has %d answers, but %d were requested", n, s.next))
	}
	for _, a := range s.kept {
		errs = append(errs, fmt.Errorf("the answer for a request with %q was not requested", a.When))
	}
	return errors.Join(errs...)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	s.mu.Lock()
	s.requests = append(s.requests, Request{r.Method, r.URL.Path, r.Header.Clone(), string(body)})
	s.mu.Unlock()
	want := ""
	if s.script.Key != "" {
		want = "Bearer " + s.script.Key
	}
	switch {
	case r.Header.Get("Authorization") != want:
		refuse(w, http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided")
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models"):
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, modelsJSON(s.script.Models))
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions"):
		s.answer(w, r, string(body))
	default:
		refuse(w, http.StatusNotFound, "not_found", r.Method+" "+r.URL.Path+" is not served")
	}
}

// answer plays the next answer of the script.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, body string) {
	a, err := s.take(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "script", err.Error())
		return
	}
	frames := a.frames()
	kind := "text/event-stream"
	if a.Faults.Plain {
		frames, kind = []string{a.plain()}, "application/json"
	}
	if a.Status != 0 {
		kind = "application/json"
	}
	w.Header().Set("Content-Type", kind)
	for k, v := range a.Header {
		w.Header().Set(k, v)
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
		if a.Raw == "" {
			return
		}
	}
	left := a.Faults.Cut + a.Faults.End
	for _, f := range frames {
		if !s.pause(r, time.Duration(a.Faults.Pause)) {
			return
		}
		if a.Faults.CutBefore != "" && strings.Contains(f, a.Faults.CutBefore) {
			panic(http.ErrAbortHandler) // the way net/http has to break a connection
		}
		if left > 0 && len(f) >= left {
			_, _ = io.WriteString(w, f[:left])
			flush(w)
			if a.Faults.Cut > 0 {
				panic(http.ErrAbortHandler)
			}
			return
		}
		if left > 0 {
			left -= len(f)
		}
		_, _ = io.WriteString(w, f) // a client that has gone is what some tests are about
		flush(w)
	}
}

// take gives the next answer if the request is what it expects.
func (s *Server) take(body string) (Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.kept, func(a Answer) bool { return strings.Contains(body, a.When) }); i >= 0 {
		a := s.kept[i]
		s.kept = slices.Delete(s.kept, i, i+1)
		return a, s.check(a, body)
	}
	n := s.next
	if s.script.Repeat && len(s.script.Answers) > 0 {
		n %= len(s.script.Answers)
	}
	s.next++
	if n >= len(s.script.Answers) {
		err := fmt.Errorf("request %d: the script has only %d answers", n+1, len(s.script.Answers))
		s.errs = append(s.errs, err)
		return Answer{}, err
	}
	a := s.script.Answers[n]
	return a, s.check(a, body)
}

// check compares a request with what an answer expects of it.
func (s *Server) check(a Answer, body string) error {
	for _, want := range a.Expect {
		if !strings.Contains(body, want) {
			err := fmt.Errorf("request %d lacks %q: %s", len(s.requests), want, body)
			s.errs = append(s.errs, err)
			return err
		}
	}
	for _, bad := range a.Absent {
		if strings.Contains(body, bad) {
			err := fmt.Errorf("request %d contains %q: %s", len(s.requests), bad, body)
			s.errs = append(s.errs, err)
			return err
		}
	}
	return nil
}

func (s *Server) pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
	case <-s.quit:
	}
	return false
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%s,"type":"invalid_request_error","code":%s}}`, quote(message), quote(code))
}

func flush(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush() // a recorder in a test need not be able to
}
