// Package modeltest is a server on loopback for tests: it records requests, checks them against a script, and plays its
// replies. Packages openaitest, anthropictest, responsestest and geminitest supply the formats of their APIs. A script
// for another API has that API's requests and bodies:
//
//	s := modeltest.New(modeltest.Script{API: api, Replies: replies})
//	s.Serve(t)
//	// POST s.URL + api.Path
package modeltest

import (
	"encoding/json"
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

// Script is a server's part of a conversation.
type Script struct {
	API     API
	Replies []Reply // to POST API.Path, one each, in order
	Repeat  bool    // start again after the last answer; otherwise another request is an error
}

// API describes an API.
type API struct {
	Base string // path of the URL that clients are given
	// end of the path whose POSTs the replies answer
	Path  string
	Query string                 // required query of those POSTs, if any
	Known func(http.Header) bool // whether a request has the right key
	// why a real server rejects a request; "": it doesn't. May be nil
	Check func(header http.Header, body string) string
	// answers other requests, and reports whether it did
	Other func(w http.ResponseWriter, r *http.Request, body string) bool
	Fail  func(w http.ResponseWriter, status int, code Code, message string) // writes an error in the API's format
}

// Code classifies an invalid request.
type Code int

// The codes.
const (
	Unauthorized Code = iota // no key, or a wrong one
	NotServed                // unknown path
	Rejected                 // a request that a real server would reject
	OffScript                // a request that deviates from the script
)

// Reply is the reply to one request.
type Reply struct {
	// When reserves the reply for a request whose body contains this text, for agents that send requests in no fixed
	// order. It is used once, before replies without When.
	When string
	// Until repeats the reply until a request's body contains this text; that request gets the next reply. It waits for
	// asynchronous events in the client.
	Until  string
	Expect []string // texts that the request's body must contain
	Absent []string // texts that it must not contain

	// Body returns the frames of the body and its content type. n counts the requests, from 1.
	Body   func(n int, request string) (kind string, frames []string)
	Status int // 0: 200
	Header map[string]string

	Pause time.Duration // before each frame
	Chunk int           // bytes in each write to the connection; 0: a frame
	Cut   int           // the connection breaks after this many bytes
	End   int           // the body ends normally after this many bytes

	CutBefore string // the connection breaks in place of the first frame that contains this
}

// Server plays a script. It is an http.Handler.
type Server struct {
	URL    string // base URL, if it was started
	script Script

	mu       sync.Mutex
	requests []Request
	errs     []error
	next     int
	kept     []Reply // replies with a When that were not used yet

	http *http.Server
	quit chan struct{}
}

// Request is a client's request.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         string
}

// Faults are the ways in which servers deviate or fail.
type Faults struct {
	Split    int      `json:"split,omitempty"`    // characters in each delta; 0: all at once
	Pause    Duration `json:"pause,omitempty"`    // before each event
	Chunk    int      `json:"chunk,omitempty"`    // bytes in each write to the connection; 0: an event
	Cut      int      `json:"cut,omitempty"`      // the connection breaks after this many bytes
	End      int      `json:"end,omitempty"`      // the stream ends normally after this many bytes
	CRLF     bool     `json:"crlf,omitempty"`     // CRLF line endings
	Comments bool     `json:"comments,omitempty"` // keep-alive comments between events
}

// Duration is a time.Duration that JSON writes as "10ms".
type Duration time.Duration

// UnmarshalJSON reads "10ms".
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("read a duration such as \"10ms\": %w", err)
	}
	v, err := time.ParseDuration(s)
	*d = Duration(v)
	return err
}

// MarshalJSON writes "10ms".
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// New returns a server that doesn't listen, for a test with its own connections.
func New(s Script) *Server {
	out := &Server{script: s, quit: make(chan struct{})}
	for _, r := range s.Replies {
		if r.When != "" {
			out.kept = append(out.kept, r)
		}
	}
	out.script.Replies = slices.DeleteFunc(slices.Clone(s.Replies), func(r Reply) bool { return r.When != "" })
	return out
}

// Start serves on a free port of loopback until Close.
func (s *Server) Start() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.URL = "http://" + l.Addr().String() + s.script.API.Base
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(l) }() // it returns an error after Close
	return nil
}

// Serve serves until the test ends, and fails the test if the conversation deviated from the script.
func (s *Server) Serve(t testing.TB) {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := s.Err(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
}

// Close breaks off all connections and stops listening.
func (s *Server) Close() {
	close(s.quit)
	if s.http != nil {
		_ = s.http.Close() // ignore errors at the end of a test
	}
}

// Requests returns all requests so far, including unanswered ones.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Err returns how the conversation deviated from the script: an expectation that wasn't met, an additional or invalid
// request or, at the end, an answer that wasn't requested.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := slices.Clone(s.errs)
	if n := len(s.script.Replies); s.next < n && !s.script.Repeat {
		errs = append(errs, fmt.Errorf("the script has %d answers, but %d were requested", n, s.next))
	}
	for _, r := range s.kept {
		errs = append(errs, fmt.Errorf("the answer for a request with %q was not requested", r.When))
	}
	return errors.Join(errs...)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client disconnected
	}
	s.mu.Lock()
	s.requests = append(s.requests, Request{r.Method, r.URL.Path, r.Header.Clone(), string(body)})
	n := len(s.requests)
	s.mu.Unlock()
	api := s.script.API
	switch {
	case !api.Known(r.Header):
		api.Fail(w, http.StatusUnauthorized, Unauthorized, "Incorrect API key provided")
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, api.Path) &&
		(api.Query == "" || r.URL.RawQuery == api.Query):
		s.answer(w, r, n, string(body))
	case api.Other == nil || !api.Other(w, r, string(body)):
		api.Fail(w, http.StatusNotFound, NotServed, r.Method+" "+r.URL.Path+" is not served")
	}
}

// answer plays the next reply of the script.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, n int, body string) {
	api := s.script.API
	if api.Check != nil {
		if why := api.Check(r.Header, body); why != "" {
			s.note(fmt.Errorf("request %d is rejected: %s: %s", n, why, body))
			api.Fail(w, http.StatusBadRequest, Rejected, why)
			return
		}
	}
	reply, err := s.take(body)
	if err != nil {
		api.Fail(w, http.StatusBadRequest, OffScript, err.Error())
		return
	}
	kind, frames := reply.Body(n, body)
	w.Header().Set("Content-Type", kind)
	for k, v := range reply.Header {
		w.Header().Set(k, v)
	}
	if reply.Status != 0 {
		w.WriteHeader(reply.Status)
	}
	left := reply.Cut + reply.End
	for _, f := range frames {
		if !s.pause(r, reply.Pause) {
			return
		}
		if reply.CutBefore != "" && strings.Contains(f, reply.CutBefore) {
			panic(http.ErrAbortHandler)
		}
		if left > 0 && len(f) >= left {
			write(w, f[:left], reply.Chunk)
			if reply.Cut > 0 {
				panic(http.ErrAbortHandler) // net/http's way to break a connection
			}
			return
		}
		if left > 0 {
			left -= len(f)
		}
		write(w, f, reply.Chunk)
	}
}

// write sends a frame, in chunks of this many bytes.
func write(w http.ResponseWriter, frame string, chunk int) {
	for frame != "" {
		n := len(frame)
		if chunk > 0 {
			n = min(n, chunk)
		}
		_, _ = io.WriteString(w, frame[:n])       // some tests disconnect
		_ = http.NewResponseController(w).Flush() // not supported by every recorder
		frame = frame[n:]
	}
}

// take returns the next reply if the request is as expected.
func (s *Server) take(body string) (Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.kept, func(r Reply) bool { return strings.Contains(body, r.When) }); i >= 0 {
		r := s.kept[i]
		s.kept = slices.Delete(s.kept, i, i+1)
		return r, s.check(r, body)
	}
	if n := s.next; n < len(s.script.Replies) && s.script.Replies[n].Until != "" {
		if r := s.script.Replies[n]; !strings.Contains(body, r.Until) {
			return r, s.check(r, body)
		}
		s.next++
	}
	n := s.next
	if s.script.Repeat && len(s.script.Replies) > 0 {
		n %= len(s.script.Replies)
	}
	s.next++
	if n >= len(s.script.Replies) {
		err := fmt.Errorf("request %d: the script has only %d answers", n+1, len(s.script.Replies))
		s.errs = append(s.errs, err)
		return Reply{}, err
	}
	r := s.script.Replies[n]
	return r, s.check(r, body)
}

// check compares a request with the expectations of a reply.
func (s *Server) check(r Reply, body string) error {
	for _, want := range r.Expect {
		if !strings.Contains(body, want) {
			err := fmt.Errorf("request %d lacks %q: %s", len(s.requests), want, body)
			s.errs = append(s.errs, err)
			return err
		}
	}
	for _, bad := range r.Absent {
		if strings.Contains(body, bad) {
			err := fmt.Errorf("request %d holds %q: %s", len(s.requests), bad, body)
			s.errs = append(s.errs, err)
			return err
		}
	}
	return nil
}

func (s *Server) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
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
