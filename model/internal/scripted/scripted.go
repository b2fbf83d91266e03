// Package scripted is what the scripted model servers share: a server on loopback that records requests, checks them
// against a script, and plays its replies. The packages openaitest, anthropictest, responsestest and geminitest give it the
// words of their APIs.
package scripted

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

// Script is a server's part of a conversation.
type Script struct {
	API     API
	Replies []Reply // to POST API.Path, one each, in order
	Repeat  bool    // begin again after the last; else a request too many is an error
}

// API is what is particular to an API.
type API struct {
	Base  string                                                             // path of the URL that clients are given
	Path  string                                                             // end of the path whose POSTs the replies answer
	Query string                                                             // of those POSTs, if they must have one
	Known func(http.Header) bool                                             // whether a request has the right key
	Check func(header http.Header, body string) string                       // why a real server rejects a request; "": it does not, nil: none
	Other func(w http.ResponseWriter, r *http.Request, body string) bool     // answers other requests, and says if it did
	Fail  func(w http.ResponseWriter, status int, code Code, message string) // writes an error as the API has it
}

// Code is what is wrong with a request.
type Code int

// The codes.
const (
	Unauthorized Code = iota // no key, or a wrong one
	NotServed                // nothing is served there
	Rejected                 // a request that a real server would reject
	OffScript                // a request that the script does not have
)

// Reply is the reply to one request.
type Reply struct {
	// When keeps the reply for a request with this in its body: where several agents ask at once, their order is not
	// known. It is given once, before those that are for anyone.
	When string
	// Until repeats the reply until a request has this in its body; that request gets the next reply. It waits for
	// what happens in the client at its own time.
	Until  string
	Expect []string // what must be in the request's body
	Absent []string // what must not

	// Body gives the frames of the body and its content type. n counts the requests, from 1.
	Body   func(n int, request string) (kind string, frames []string)
	Status int // 0: 200
	Header map[string]string

	Pause time.Duration // before each frame
	Chunk int           // bytes in each write to the connection; 0: a frame
	Cut   int           // the connection breaks after so many bytes
	End   int           // the body ends in good order after so many bytes

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
	kept     []Reply // those with a When that were not given yet

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
	go func() { _ = s.http.Serve(l) }() // it ends with Close and says so
	return nil
}

// Serve serves until the test ends, and fails the test if the conversation was not the script's.
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
		_ = s.http.Close() // nothing is lost by an error here
	}
}

// Requests returns those that came so far, those that no reply answers too.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Err says what was not as the script has it: an expectation that did not hold, a request too many or one that a real
// server rejects, or, after all is done, an answer that nobody asked for.
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
		return // the client has gone
	}
	s.mu.Lock()
	s.requests = append(s.requests, Request{r.Method, r.URL.Path, r.Header.Clone(), string(body)})
	n := len(s.requests)
	s.mu.Unlock()
	api := s.script.API
	switch {
	case !api.Known(r.Header):
		api.Fail(w, http.StatusUnauthorized, Unauthorized, "Incorrect API key provided")
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, api.Path) && (api.Query == "" || r.URL.RawQuery == api.Query):
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
				panic(http.ErrAbortHandler) // the way net/http has to break a connection
			}
			return
		}
		if left > 0 {
			left -= len(f)
		}
		write(w, f, reply.Chunk)
	}
}

// write sends a frame, in chunks of so many bytes.
func write(w http.ResponseWriter, frame string, chunk int) {
	for frame != "" {
		n := len(frame)
		if chunk > 0 {
			n = min(n, chunk)
		}
		_, _ = io.WriteString(w, frame[:n])       // a client that has gone is what some tests are about
		_ = http.NewResponseController(w).Flush() // a recorder in a test need not be able to
		frame = frame[n:]
	}
}

// take gives the next reply if the request is what it expects.
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

// check compares a request with what a reply expects of it.
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
