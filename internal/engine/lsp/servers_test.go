package lsp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/internal/dev/waittest"
)

// Servers that break the protocol: a clear error each, the process is stopped, and there are at most two restarts.
func TestBadServers(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"garbage":         {"Hello, world!\n", `printed text that isn't a message: "Hello, world!"`},
		"1 GB header":     {"Content-Length: 1073741824\r\n\r\n", "announced a message of 1073741824 bytes"},
		"endless header":  {strings.Repeat("X: y\r\n", 10_000), "header that is too long"},
		"endless line":    {strings.Repeat("x", 100_000), "isn't a message"},
		"negative length": {"Content-Length: -1\r\n\r\n", "announced a message of -1 bytes"},
		"invalid JSON":    {"Content-Length: 3\r\n\r\n{{{", "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			var list []*scripted
			for range maxFailures {
				server := newScripted(t)
				server.does("initialize", func(json.RawMessage) (any, *failure) {
					fmt.Fprint(server.out, c.text)
					return nil, nil
				})
				list = append(list, server)
			}
			s, dir := serve(t, list...)
			path := write(t, dir, "a.x", "one\n")
			for range maxFailures + 2 {
				_, err := s.ask(Hover, path, 1, "one")
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "It printed: the log") {
					t.Fatalf("got %v", err)
				}
			}
			for i, server := range list {
				if !server.wasStopped() {
					t.Errorf("process %d was not stopped", i)
				}
			}
		})
	}
}

// quiet runs a test in which time passes only while everything waits.
func quiet(t *testing.T, test func(t *testing.T, server *scripted, s *Servers, path string)) {
	synctest.Test(t, func(t *testing.T) {
		server := newScripted(t)
		s, dir := serve(t, server)
		defer s.Close()
		test(t, server, s, write(t, dir, "a.x", "one\n"))
	})
}

func TestNeverInitialized(t *testing.T) {
	quiet(t, func(t *testing.T, server *scripted, s *Servers, path string) {
		hold := make(chan struct{})
		defer close(hold)
		server.does("initialize", func(json.RawMessage) (any, *failure) { <-hold; return nil, nil })
		began := time.Now()
		if _, err := s.Ask(t.Context(), Question{Operation: Hover, Path: path, Line: 1, Name: "one"}); !errors.Is(err, ErrStarting) {
			t.Errorf("at once: %v", err)
		}
		if time.Since(began) > 0 {
			t.Error("it waited")
		}
		time.Sleep(startTime) // not synchronization: time of the bubble that quiet makes
		synctest.Wait()
		if now := s.States()[0]; now.State != Failed || now.Why != "it didn't answer the initialization" || !server.wasStopped() {
			t.Errorf("got %+v, stopped %v", now, server.wasStopped())
		}
	})
}

func TestLateAnswer(t *testing.T) {
	quiet(t, func(t *testing.T, server *scripted, s *Servers, path string) {
		hold := make(chan struct{})
		server.does("textDocument/hover", func(json.RawMessage) (any, *failure) {
			<-hold
			return map[string]string{"contents": "late"}, nil
		})
		if _, err := s.ask(Hover, path, 1, "one"); err == nil || err.Error() != "scripted didn't answer within 120 s" {
			t.Errorf("got %v", err)
		}
		close(hold)
		server.answering("textDocument/hover", map[string]string{"contents": "fine"})
		if a, err := s.ask(Hover, path, 1, "one"); err != nil || a.Text != "fine" {
			t.Errorf("the next answer: %+v, %v", a, err)
		}
	})
}

// A server that never says which text its diagnostics are for is waited for once, and shows none.
func TestUnversioned(t *testing.T) {
	quiet(t, func(t *testing.T, server *scripted, s *Servers, path string) {
		server.publishing(false)
		began := time.Now()
		s.Touch(path)
		synctest.Wait()
		if s.ready() {
			t.Error("ready at once")
		}
		if n := change(t, s, path, "bad\n"); len(n.New) > 0 {
			t.Errorf("news of a server that starts: %v", n)
		}
		if _, err := s.ask(Diagnostics, path, 0, ""); !errors.Is(err, errSilent) {
			t.Errorf("asked for diagnostics: %v", err)
		}
		if took := time.Since(began); took != publishFor {
			t.Errorf("it took %v", took)
		}
		if n := change(t, s, path, "bad\nbad\n"); len(n.New) > 0 || time.Since(began) != publishFor {
			t.Errorf("after %v: %v", time.Since(began), n)
		}
	})
}

// An answer of another form is reported without Go's names for types, which the error had.
func TestOddAnswer(t *testing.T) {
	server := newScripted(t)
	s, dir := serve(t, server)
	path := write(t, dir, "a.x", "one\n")
	for _, answer := range []any{5, "text", []int{1}, map[string]any{"uri": 5}} {
		server.answering("textDocument/definition", answer)
		if _, err := s.ask(Definition, path, 1, "one"); err == nil || err.Error() != "scripted: its answer has another form than the protocol says" {
			t.Errorf("%v: %v", answer, err)
		}
	}
}

// A server that doesn't read what it is sent is stopped.
func TestDeafServer(t *testing.T) {
	server := newScripted(t)
	hold := make(chan struct{})
	defer close(hold)
	server.does("textDocument/hover", func(json.RawMessage) (any, *failure) {
		for i := range maxUnread + 10 {
			server.send(message{ID: json.RawMessage(fmt.Sprint(i)), Method: "window/showDocument"})
		}
		<-hold
		return nil, nil
	})
	s, dir := serve(t, server)
	_, err := s.ask(Hover, write(t, dir, "a.x", "one\n"), 1, "one")
	if err == nil || !strings.Contains(err.Error(), "it doesn't read what it is sent") {
		t.Errorf("got %v", err)
	}
}

// A server that exits is started again, and one that asks for edits or commands is refused.
func TestRestartAndRefusals(t *testing.T) {
	first, second := newScripted(t), newScripted(t)
	second.answering("textDocument/hover", map[string]any{"contents": "fine"})
	s, dir := serve(t, first, second)
	path := write(t, dir, "a.x", "one\n")
	ready(t, s, path)
	methods := []string{"workspace/applyEdit", "workspace/executeCommand", "window/showDocument"}
	for i, method := range methods {
		first.send(message{ID: json.RawMessage(fmt.Sprint(i)), Method: method, Params: json.RawMessage("{}")})
	}
	waittest.Until(t, "the answer", func() bool {
		first.mu.Lock()
		defer first.mu.Unlock()
		return len(first.refused) == len(methods)
	})
	for i, m := range first.refused {
		if m.Error == nil || m.Error.Code != methodNotFound {
			t.Errorf("the answer to %s: %s", methods[i], m.Result)
		}
	}
	first.out.Close()
	waittest.Until(t, "the end", func() bool { return !s.ready() })
	if a, err := s.ask(Hover, path, 1, "one"); err != nil || a.Text != "fine" {
		t.Fatalf("got %q, %v", a.Text, err)
	}
}

// A server that exits during a question: the question fails, and after two restarts it isn't started any more.
func TestExits(t *testing.T) {
	var list []*scripted
	for range maxFailures {
		server := newScripted(t)
		server.does("textDocument/hover", func(json.RawMessage) (any, *failure) {
			server.out.Close()
			return nil, nil
		})
		list = append(list, server)
	}
	s, dir := serve(t, list...)
	path := write(t, dir, "a.x", "one\n")
	for range maxFailures {
		if _, err := s.ask(Hover, path, 1, "one"); err == nil || err.Error() != "scripted failed: it exited" {
			t.Fatalf("got %v", err)
		}
	}
	if _, err := s.ask(Hover, path, 1, "one"); err == nil || !strings.HasPrefix(err.Error(), "scripted doesn't run: it exited") {
		t.Fatalf("got %v", err)
	}
}

// A server that was stopped because it was idle, or because secret files appeared, is started again; that is no failure.
func TestIdleAndOutdated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var list []*scripted
		for range 2 * maxFailures {
			list = append(list, newScripted(t))
		}
		s, dir := serve(t, list...)
		defer s.Close()
		path := write(t, dir, "a.x", "one\n")
		for i, server := range list[:maxFailures+1] {
			began := time.Now()
			s.Touch(path)
			synctest.Wait()
			if !server.saw("textDocument/diagnostic") || !s.ready() {
				t.Fatalf("process %d: %v", i, s.States())
			}
			time.Sleep(5 * time.Minute)
			s.News(t.Context(), true) // after each call, and no use
			time.Sleep(10*time.Minute - time.Since(began))
			synctest.Wait()
			if s.States()[0].State != Stopped || !server.wasStopped() {
				t.Fatalf("process %d wasn't stopped: %v", i, s.States())
			}
		}
		time.Sleep(24 * time.Hour) // nothing wakes up
		list = list[maxFailures+1:]
		s.Touch(path)
		synctest.Wait()
		list[0].mu.Lock()
		list[0].outdated = true
		list[0].mu.Unlock()
		s.Touch(path)
		synctest.Wait()
		if !list[0].wasStopped() || !list[1].saw("textDocument/diagnostic") {
			t.Errorf("the process isn't another one: %v", s.States())
		}
	})
}
