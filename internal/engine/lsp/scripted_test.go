package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// scripted is a server in this process. Its documents have an error in each line with "bad", and a warning in each line
// with "odd".
type scripted struct {
	t       *testing.T
	in      *io.PipeReader // what the client sends
	out     *io.PipeWriter
	toUs    *io.PipeWriter
	fromUs  *io.PipeReader
	answers map[string]func(params json.RawMessage) (any, *failure)
	can     map[string]any

	mu       sync.Mutex
	texts    map[string]string
	versions map[string]int
	got      []string // methods
	refused  []message
	stopped  bool
	outdated bool
}

func newScripted(t *testing.T) *scripted {
	s := &scripted{
		t: t, texts: map[string]string{}, versions: map[string]int{},
		answers: map[string]func(json.RawMessage) (any, *failure){},
		can: map[string]any{"diagnosticProvider": map[string]any{}, "definitionProvider": true, "renameProvider": true,
			"documentSymbolProvider": true, "hoverProvider": true, "referencesProvider": true, "callHierarchyProvider": true, "workspaceSymbolProvider": true},
	}
	s.in, s.toUs = io.Pipe()
	s.fromUs, s.out = io.Pipe()
	return s
}

func (s *scripted) Read(p []byte) (int, error)  { return s.fromUs.Read(p) }
func (s *scripted) Write(p []byte) (int, error) { return s.toUs.Write(p) }
func (s *scripted) Log() string                 { return "the log" }

func (s *scripted) Outdated() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outdated
}

// saw reports whether the server got a message.
func (s *scripted) saw(method string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.got, method)
}

func (s *scripted) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.in.Close()
	s.out.Close()
	s.fromUs.Close()
	s.toUs.Close()
}

func (s *scripted) send(m message) {
	m.Version = "2.0"
	body, _ := json.Marshal(m)
	fmt.Fprintf(s.out, "Content-Length: %d\r\n\r\n%s", len(body), body)
}

// does has the server call a function for a method.
func (s *scripted) does(method string, do func(params json.RawMessage) (any, *failure)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[method] = do
}

// answering answers a method with a value.
func (s *scripted) answering(method string, value any) {
	s.does(method, func(json.RawMessage) (any, *failure) { return value, nil })
}

func (s *scripted) wasStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

func (s *scripted) notify(method string, params any) {
	raw, _ := json.Marshal(params)
	s.send(message{Method: method, Params: raw})
}

// diagnostics returns those of a text.
func scriptedDiagnostics(text string) []map[string]any {
	list := []map[string]any{}
	for i, l := range strings.Split(text, "\n") {
		for word, severity := range map[string]int{"bad": 1, "odd": 2} {
			if strings.Contains(l, word) {
				list = append(list, map[string]any{"severity": severity, "message": strings.TrimSpace(l),
					"source": "scripted", "range": Range{Start: Position{Line: i}}})
			}
		}
	}
	return list
}

func (s *scripted) run() {
	r := bufio.NewReader(s.in)
	for {
		body, err := readBody(r)
		if err != nil {
			return
		}
		var m message
		json.Unmarshal(body, &m)
		var doc struct {
			TextDocument struct {
				URI, Text string
				Version   int
			}
			ContentChanges []struct{ Text string }
		}
		json.Unmarshal(m.Params, &doc)
		uri := doc.TextDocument.URI
		s.mu.Lock()
		s.got = append(s.got, m.Method)
		if m.Method == "" {
			s.refused = append(s.refused, m)
		}
		switch m.Method {
		case "textDocument/didOpen":
			s.texts[uri], s.versions[uri] = doc.TextDocument.Text, doc.TextDocument.Version
		case "textDocument/didChange":
			s.texts[uri], s.versions[uri] = doc.ContentChanges[0].Text, doc.TextDocument.Version
		}
		text := s.texts[uri]
		answer := s.answers[m.Method]
		s.mu.Unlock()
		if m.Method == "" || m.ID == nil && answer == nil {
			continue
		}
		var result any
		var failed *failure
		switch {
		case answer != nil:
			result, failed = answer(m.Params)
		case m.Method == "initialize":
			result = map[string]any{"capabilities": s.can}
		case m.Method == "textDocument/diagnostic":
			result = map[string]any{"kind": "full", "items": scriptedDiagnostics(text)}
		}
		if m.ID == nil {
			continue
		}
		raw, _ := json.Marshal(result)
		s.send(message{ID: m.ID, Result: raw, Error: failed})
	}
}

// serve returns servers whose processes are those, one after the other.
func serve(t *testing.T, list ...*scripted) (*Servers, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	var mu sync.Mutex
	s := New(Options{
		Servers: []Server{{Name: "scripted", Files: map[string]string{".x": "x"}}}, Root: dir,
		Hide: func(path string) bool { return strings.Contains(path, "secret") },
		Start: func(Server) (Process, error) {
			mu.Lock()
			defer mu.Unlock()
			if next == len(list) {
				return nil, fmt.Errorf("no more processes")
			}
			next++
			go list[next-1].run()
			return list[next-1], nil
		},
	})
	t.Cleanup(s.Close)
	return s, dir
}

// ask asks about a name, and waits for the server.
func (s *Servers) ask(op Operation, path string, line int, name string) (Answer, error) {
	return s.Ask(context.Background(), Question{Operation: op, Path: path, Line: line, Name: name, NewName: "new", Wait: true})
}

func (s *Servers) ready() bool { return s.States()[0].State == Running }

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func lines(list []Diagnostic) string {
	var out []string
	for _, d := range list {
		out = append(out, fmt.Sprintf("%s:%d %s", filepath.Base(d.Path), d.Line, d.Message))
	}
	return strings.Join(out, "; ")
}
