package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/dev/waittest"
)

func TestPositions(t *testing.T) {
	const text = "a😀b\nnaïve 𝒳 end\n"
	for _, bytes := range []bool{false, true} {
		for at := range len(text) + 1 {
			if at < len(text) && text[at]&0xC0 == 0x80 {
				continue
			}
			before := text[:at]
			start := strings.LastIndexByte(before, '\n') + 1
			p := Position{strings.Count(before, "\n"), units(before[start:], bytes)}
			if got, err := offset(text, p, bytes); err != nil || got != at {
				t.Errorf("bytes %v: byte %d is %v, and back %d, %v", bytes, at, p, got, err)
			}
		}
	}
	for _, p := range []Position{{0, 2}, {9, 1}, {0, -1}, {-1, 0}} { // the first is inside the emoji
		if at, err := offset(text, p, false); err == nil {
			t.Errorf("%v is byte %d; want an error", p, at)
		}
	}
}

func TestOccurrences(t *testing.T) {
	for _, c := range []struct {
		line, name string
		want       string
	}{
		{"return b.Count(name) + len(name)", "name", "[15 27]"},
		{"return b.Count(name)", "b.Count", "[9]"},
		{"Counter.Count", "Count", "[8]"},
		{"x := größe + große", "größe", "[5]"},
		{"foo()", "foo()", "[0]"},
		{"foo", "bar", "[]"},
	} {
		if got := fmt.Sprint(occurrences(c.line, c.name)); got != c.want {
			t.Errorf("%q in %q: %s, want %s", c.name, c.line, got, c.want)
		}
	}
}

// answering answers a method with a value.
func (s *scripted) answering(method string, value any) {
	s.answers[method] = func(json.RawMessage) (any, *ResponseError) { return value, nil }
}

func at(dir, name string, line, from, to int) map[string]any {
	return map[string]any{"uri": uriOf(dir + "/" + name), "range": Range{Position{line, from}, Position{line, to}}}
}

func TestAsk(t *testing.T) {
	server := newScripted(t)
	s, dir := serve(t, server)
	path := write(t, dir, "a.x", "one two\ntwo two\n")
	write(t, dir, "secret.x", "password\n")
	server.answering("textDocument/references", []any{at(dir, "a.x", 0, 4, 7), at(dir, "secret.x", 0, 0, 1),
		map[string]any{"uri": "file:///etc/passwd"}, map[string]any{"uri": "http://example.com/"}, at(dir, "a.x", 70, 0, 1)})
	a, err := s.Ask(context.Background(), References, Place{path, 1, "two"}, true)
	if err != nil || len(a.Found) != 1 || a.Found[0].Text != "one two" || a.Hidden != 4 {
		t.Fatalf("got %+v, %v", a, err)
	}
	for name, want := range map[string]string{
		"three": `"three" is not in line 1, and nowhere in the file`,
		" ":     "name is empty",
	} {
		if _, err := s.Ask(context.Background(), References, Place{path, 1, name}, true); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := s.Ask(context.Background(), References, Place{path, 9, "one"}, true); err == nil ||
		!strings.Contains(err.Error(), "the file has 3 lines") {
		t.Errorf("a line that doesn't exist: %v", err)
	}
	var ambiguous *AmbiguousError
	if _, err := s.Ask(context.Background(), Hover, Place{path, 2, "two"}, true); !errors.As(err, &ambiguous) ||
		strings.Join(ambiguous.Candidates, "|") != "two|two two" {
		t.Errorf("an ambiguous name: %v", err)
	}
	if _, err := s.Ask(context.Background(), Callers, Place{path, 1, "two"}, true); err == nil ||
		err.Error() != "scripted doesn't offer callers" {
		t.Errorf("what the server can't do: %v", err)
	}
	if _, err := s.Ask(context.Background(), References, Place{dir + "/a.y", 1, "two"}, true); !errors.Is(err, ErrNoServer) {
		t.Errorf("a file without a server: %v", err)
	}
	write(t, dir, "large.x", strings.Repeat("two\n", 5<<20/4))
	if _, err := s.Ask(context.Background(), References, Place{dir + "/large.x", 1, "two"}, true); !errors.Is(err, errTooLarge) {
		t.Errorf("a file of 5 MB: %v", err)
	}
}

func TestRename(t *testing.T) {
	server := newScripted(t)
	s, dir := serve(t, server)
	a := write(t, dir, "a.x", "😀 old\n")
	write(t, dir, "b.x", "old old\n")
	write(t, dir, "secret.x", "old\n")
	edit := func(name string, from, to int) map[string]any {
		return map[string]any{"textDocument": map[string]any{"uri": uriOf(dir + "/" + name)},
			"edits": []any{map[string]any{"range": at(dir, name, 0, from, to)["range"], "newText": "new"}}}
	}
	for name, c := range map[string]struct {
		changes []any
		want    string
	}{
		"two files":   {[]any{edit("b.x", 4, 7), edit("a.x", 3, 6)}, ""},
		"overlapping": {[]any{edit("b.x", 4, 7), edit("b.x", 5, 6)}, "overlap"},
		"outside":     {[]any{edit("../b.x", 4, 7)}, "outside the workspace"},
		"hidden":      {[]any{edit("secret.x", 0, 3)}, "must not be read"},
		"a new file":  {[]any{map[string]any{"kind": "create", "uri": uriOf(dir + "/c.x")}}, "wants to create files"},
		"no such line": {[]any{map[string]any{"textDocument": map[string]any{"uri": uriOf(a)},
			"edits": []any{map[string]any{"range": Range{Position{7, 1}, Position{7, 2}}}}}}, "line 8, which doesn't exist"},
	} {
		server.answering("textDocument/rename", map[string]any{"documentChanges": c.changes})
		edits, err := s.Rename(context.Background(), Place{a, 1, "old"}, "new", true)
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case c.want == "" && (err != nil || len(edits) != 2 || edits[0].Edits[0] != Edit{5, 8, "new"} || edits[1].Edits[0].Start != 4):
			t.Errorf("%s: %+v, %v", name, edits, err)
		}
	}
}

// Servers that break the protocol: a clear error each, the process is stopped, and there are at most two restarts.
func TestBadServers(t *testing.T) {
	flood := func(s *scripted, text string) func(json.RawMessage) (any, *ResponseError) {
		return func(json.RawMessage) (any, *ResponseError) {
			fmt.Fprint(s.out, text)
			return nil, nil
		}
	}
	for name, c := range map[string]struct {
		method string
		text   string
		want   string
	}{
		"garbage":         {"initialize", "Hello, world!\n", `printed text that isn't a message: "Hello, world!"`},
		"1 GB header":     {"initialize", "Content-Length: 1073741824\r\n\r\n", "announced a message of 1073741824 bytes"},
		"endless header":  {"initialize", strings.Repeat("X: y\r\n", 10_000), "header that is too long"},
		"endless line":    {"initialize", strings.Repeat("x", 100_000), "isn't a message"},
		"negative length": {"initialize", "Content-Length: -1\r\n\r\n", "announced a message of -1 bytes"},
		"invalid JSON":    {"initialize", "Content-Length: 3\r\n\r\n{{{", "invalid message"},
	} {
		t.Run(name, func(t *testing.T) {
			var list []*scripted
			for range maxStarts {
				server := newScripted(t)
				server.answers[c.method] = flood(server, c.text)
				list = append(list, server)
			}
			s, dir := serve(t, list...)
			path := write(t, dir, "a.x", "one\n")
			for range maxStarts + 2 {
				_, err := s.Ask(context.Background(), Hover, Place{path, 1, "one"}, true)
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "the log") {
					t.Fatalf("got %v", err)
				}
			}
			for i, server := range list {
				server.mu.Lock()
				if !server.stopped {
					t.Errorf("process %d was not stopped", i)
				}
				server.mu.Unlock()
			}
		})
	}
}

// A server that exits is started again, and one that asks for edits or commands is refused.
func TestRestartAndRefusals(t *testing.T) {
	first, second := newScripted(t), newScripted(t)
	second.answering("textDocument/hover", map[string]any{"contents": []any{"it's ", map[string]string{"value": "fine"}}})
	s, dir := serve(t, first, second)
	path := write(t, dir, "a.x", "one\n")
	ready(t, s, path)
	for i, method := range []string{"workspace/applyEdit", "workspace/executeCommand", "window/showDocument"} {
		first.send(message{ID: json.RawMessage(fmt.Sprint(i)), Method: method, Params: json.RawMessage("{}")})
	}
	waittest.Until(t, "the answer", func() bool {
		first.mu.Lock()
		defer first.mu.Unlock()
		return len(first.refused) == 3
	})
	for i, m := range first.refused {
		if i == 0 && !strings.Contains(string(m.Result), `"applied":false`) || i > 0 && m.Error == nil {
			t.Errorf("answer %d: %s %v", i, m.Result, m.Error)
		}
	}
	first.out.Close()
	waittest.Until(t, "the end", func() bool { return !s.Ready() })
	a, err := s.Ask(context.Background(), Hover, Place{path, 1, "one"}, true)
	if err != nil || a.Text != "it's \n\nfine" {
		t.Fatalf("got %q, %v", a.Text, err)
	}
}

// A server that was stopped because it was idle, or because secret files appeared, is started again; that is no failure.
func TestIdleAndOutdated(t *testing.T) {
	var list []*scripted
	for range 2 * maxStarts {
		list = append(list, newScripted(t))
	}
	s, dir := serveIdle(t, time.Millisecond, list...)
	path := write(t, dir, "a.x", "one\n")
	for i := range list {
		s.Touch(path)
		waittest.Until(t, "the start", func() bool { return list[i].saw("textDocument/diagnostic") })
		waittest.Until(t, "the stop", func() bool { return s.States()[0].State == "stopped" })
	}
	first, second := newScripted(t), newScripted(t)
	s, dir = serve(t, first, second)
	path = write(t, dir, "a.x", "one\n")
	ready(t, s, path)
	first.mu.Lock()
	first.outdated = "files appeared"
	first.mu.Unlock()
	s.Touch(path)
	waittest.Until(t, "the second process", func() bool { return second.saw("textDocument/diagnostic") })
	first.mu.Lock()
	defer first.mu.Unlock()
	if !first.stopped {
		t.Error("the first process was not stopped")
	}
}

func TestManyDiagnostics(t *testing.T) {
	server := newScripted(t)
	s, dir := serve(t, server)
	path := write(t, dir, "a.x", "fine\n")
	ready(t, s, path)
	list := make([]map[string]any, 100_000)
	for i := range list {
		list[i] = map[string]any{"message": fmt.Sprint("message ", i), "severity": 2}
	}
	list[50] = map[string]any{"message": "the error", "severity": 1}
	raw, _ := json.Marshal(map[string]any{"items": list})
	server.answering("textDocument/diagnostic", json.RawMessage(raw))
	n := change(t, s, path, "other\n")
	if len(n.New) != maxKept {
		t.Fatalf("%d diagnostics", len(n.New))
	}
	if n.New[0].Message != "the error" {
		t.Fatalf("the first is %+v", n.New[0])
	}
}

func TestKnown(t *testing.T) {
	list, err := Known(map[string]json.RawMessage{
		"gopls": json.RawMessage("null"), "zls": json.RawMessage(`{"command": ["zls"], "files": {".zig": "zig"}}`),
		"pyright": json.RawMessage(`{"command": ["basedpyright-langserver", "--stdio"]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	inside := dir + "/project/bin"
	os.MkdirAll(inside, 0o700)
	os.MkdirAll(dir+"/bin", 0o700)
	for _, path := range []string{inside + "/zls", dir + "/bin/basedpyright-langserver"} {
		os.WriteFile(path, nil, 0o700)
	}
	write(t, dir+"/project", "a.go", "")
	write(t, dir+"/project", "a.zig", "")
	write(t, inside, "tool.PY", "")
	roots := []string{dir + "/project"}
	var got []string
	for _, one := range Find(For(list, Languages(roots)), inside+":"+dir+"/bin", roots) {
		got = append(got, one.Name+"="+one.Program)
	}
	if want := "pyright=" + dir + "/bin/basedpyright-langserver zls="; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, bad := range []string{`{}`, `{"command": []}`, `[]`, `{"command": ["x"]}`} {
		if _, err := Known(map[string]json.RawMessage{"own": json.RawMessage(bad)}); err == nil ||
			!strings.HasPrefix(err.Error(), "own: ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
