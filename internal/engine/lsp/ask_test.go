package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

func TestPositions(t *testing.T) {
	const text = "a😀b\nnaïve 𝒳 end\n"
	for at := range len(text) + 1 {
		if at < len(text) && text[at]&0xC0 == 0x80 {
			continue
		}
		before := text[:at]
		start := strings.LastIndexByte(before, '\n') + 1
		p := Position{strings.Count(before, "\n"), units(before[start:])}
		if got, err := offset(text, p); err != nil || got != at {
			t.Errorf("byte %d is %v, and back %d, %v", at, p, got, err)
		}
	}
	for _, p := range []Position{{0, 2}, {9, 1}, {0, -1}, {-1, 0}} { // the first is inside the emoji
		if at, err := offset(text, p); err == nil {
			t.Errorf("%v is byte %d; want an error", p, at)
		}
	}
	if at, err := offset("a\n", Position{0, 99}); err != nil || at != 1 {
		t.Errorf("after the end of a line: %d, %v", at, err)
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
		{"foo", " ", "[]"},
	} {
		got := []int{}
		for _, s := range occurrences(c.line, c.name) {
			got = append(got, s.at)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%q in %q: %v, want %s", c.name, c.line, got, c.want)
		}
	}
}

// The position that a server gets for a name, and why there is none. References answers with the position.
func TestNames(t *testing.T) {
	server := newScripted(t)
	server.does("textDocument/references", func(params json.RawMessage) (any, *failure) {
		var p struct{ Position Position }
		json.Unmarshal(params, &p)
		return nil, &failure{0, fmt.Sprint(p.Position)}
	})
	server.does("textDocument/definition", func(params json.RawMessage) (any, *failure) {
		var p struct {
			Position     Position
			TextDocument struct{ URI string }
		}
		json.Unmarshal(params, &p)
		line := p.Position.Line // in line 4, all names are the one of line 1; elsewhere each is its own
		if line == 3 {
			line = 0
		}
		return map[string]any{"uri": p.TextDocument.URI, "range": Range{Position{line, 0}, Position{line, 9}}}, nil
	})
	s, dir := serve(t, server)
	path := write(t, dir, "a.x", "one two\n😀 x.two(two)\nthree\none = f(one)\n")
	for _, c := range []struct {
		line int
		name string
		want string
	}{
		{1, "two", "scripted: {0 4}"},
		{2, "x.two", "scripted: {1 5}"}, // the emoji counts as two
		{2, "two#2", "scripted: {1 9}"},
		{4, "one", "scripted: {3 0}"}, // both mean the same
		{0, "three", "scripted: {2 0}"},
		{1, "four", `"four" is nowhere in the file`},
		{1, " ", `" " is nowhere in the file`},
		{2, "two#3", `"two#3" is nowhere in the file`},
		{9, "three", "\"three\" is not in line 9. It is here:\nline 3, three#1: three"},
		{3, "two", "\"two\" is not in line 3. It is here:\nline 1, two#1: one two\nline 2, two#1: 😀 x.two(two)\nline 2, two#2: 😀 x.two(two)"},
	} {
		if _, err := s.ask(References, path, c.line, c.name); err == nil || err.Error() != c.want {
			t.Errorf("%q in line %d: %v\nwant %s", c.name, c.line, err, c.want)
		}
	}
	server.answering("textDocument/definition", nil)
	want := "\"two\" is ambiguous. Pass the line and the name of one of these:\nline 2, two#1: 😀 x.two(two)\nline 2, two#2: 😀 x.two(two)"
	if _, err := s.ask(References, path, 2, "two"); err == nil || err.Error() != want {
		t.Errorf("an ambiguous name: %v", err)
	}
}

// Without a line, a name is what the file declares.
func TestDeclaredNames(t *testing.T) {
	d := &document{path: "a.go", text: "package a\n\nfunc f() { T{}.m() }\n\ntype T int\n\nfunc (t T) m() {}\n"}
	for name, want := range map[string]string{"T": "[5]", "m": "[7]", "t": "[7]", "package": "[1]"} {
		here, _ := find(d, Question{Name: name})
		lines := []int{}
		for _, s := range here {
			lines = append(lines, s.line)
		}
		if fmt.Sprint(lines) != want {
			t.Errorf("%s: lines %v, want %s", name, lines, want)
		}
	}
}

func at(dir, name string, line, from, to int) map[string]any {
	return map[string]any{"uri": names.URI(dir + "/" + name), "range": Range{Position{line, from}, Position{line, to}}}
}

func TestAsk(t *testing.T) {
	server := newScripted(t)
	server.does("initialized", func(json.RawMessage) (any, *failure) {
		server.notify("window/logMessage", map[string]any{"type": 3, "message": "fine"})
		server.notify("window/logMessage", map[string]any{"type": 1, "message": "packages are missing"})
		return nil, nil
	})
	s, dir := serve(t, server)
	path := write(t, dir, "a.x", "one two\ntwo two\n")
	write(t, dir, "secret.x", "password\n")
	server.answering("textDocument/references", []any{at(dir, "a.x", 0, 4, 7), at(dir, "a.x", 0, 0, 3), at(dir, "secret.x", 0, 0, 1),
		map[string]any{"uri": "file:///etc/passwd"}, map[string]any{"uri": "http://example.com/"}, at(dir, "a.x", 70, 0, 1)})
	a, err := s.ask(References, path, 1, "two")
	if err != nil || len(a.Found) != 1 || a.Found[0].Text != "one two" || a.Hidden != 4 {
		t.Errorf("got %+v, %v", a, err)
	}
	symbol := func(name string, line int, children ...any) map[string]any {
		return map[string]any{"name": name, "range": at(dir, "a.x", 0, 0, 0)["range"], "selectionRange": at(dir, "a.x", line, 0, 1)["range"],
			"children": children}
	}
	server.answering("textDocument/documentSymbol", []any{symbol("one", 0, symbol("two", 1))})
	if a, err = s.ask(Symbols, path, 0, ""); err != nil || len(a.Found) != 2 || a.Found[1] != (Found{Path: path, Line: 2, Text: "two two", Depth: 1}) {
		t.Errorf("symbols: %+v, %v", a, err)
	}
	server.answering("textDocument/prepareCallHierarchy", []any{map[string]any{"name": "two", "data": 1}})
	server.answering("callHierarchy/incomingCalls", []any{map[string]any{
		"from": map[string]any{"name": "f", "uri": names.URI(path)}, "fromRanges": []any{at(dir, "a.x", 1, 0, 3)["range"]}}})
	if a, err = s.ask(Callers, path, 1, "two"); err != nil || len(a.Found) != 1 || a.Found[0].In != "f" || a.Found[0].Line != 2 {
		t.Errorf("callers: %+v, %v", a, err)
	}
	server.answering("workspace/symbol", []any{map[string]any{"name": "one", "location": at(dir, "a.x", 0, 0, 3)}})
	if a, err = s.ask(Symbols, "", 0, "one"); err != nil || len(a.Found) != 1 || a.Found[0].Text != "one two" {
		t.Errorf("symbols by name: %+v, %v", a, err)
	}
	server.answering("textDocument/hover", map[string]any{"contents": []any{"it's ", map[string]string{"value": "fine"}}})
	if a, err = s.ask(Hover, path, 1, "two"); err != nil || a.Text != "it's \n\nfine" {
		t.Errorf("hover: %+v, %v", a, err)
	}
	if a, err = s.ask(Implementations, path, 1, "two"); err == nil || err.Error() != "scripted doesn't offer implementations" {
		t.Errorf("what the server can't do: %+v, %v", a, err)
	}
	server.notify("window/logMessage", map[string]any{"type": 1, "message": "later"}) // not about the start
	waittest.Until(t, "the log", func() bool { return s.States()[0].Log == "the log\nfine\npackages are missing\nlater" })
	if a, err = s.ask(Hover, path, 1, "two"); err != nil || fmt.Sprint(a.Missing) != "[scripted reported: packages are missing]" {
		t.Errorf("after an error of the server: %+v, %v", a, err)
	}
	if _, err := s.ask(References, dir+"/a.y", 1, "two"); err == nil || err.Error() != "no language server is installed for such files; search for text instead" {
		t.Errorf("a file without a server: %v", err)
	}
	if _, err := s.ask(References, dir+"/none.x", 1, "two"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that doesn't exist: %v", err)
	}
	large := write(t, dir, "large.x", strings.Repeat("two\n", 5<<20/4))
	if _, err := s.ask(References, large, 1, "two"); err == nil || !strings.Contains(err.Error(), "at most 4 MB") {
		t.Errorf("a file of 5 MB: %v", err)
	}
}

// A file that another program changed is reported to the server, and the question asked again.
func TestOutdatedAnswer(t *testing.T) {
	server := newScripted(t)
	s, dir := serve(t, server)
	path := write(t, dir, "a.x", "one\n")
	other := write(t, dir, "b.x", "1\n2\none\n")
	if _, err := s.ask(Symbols, path, 0, ""); err != nil {
		t.Fatal(err)
	}
	future := s.all[0].client.told[""].AddDate(1, 0, 0)
	if err := os.Chtimes(other, future, future); err != nil {
		t.Fatal(err)
	}
	server.does("textDocument/references", func(json.RawMessage) (any, *failure) {
		line := 0
		if server.saw("workspace/didChangeWatchedFiles") {
			line = 2
		}
		return []any{at(dir, "b.x", line, 0, 1)}, nil
	})
	if a, err := s.ask(References, path, 1, "one"); err != nil || len(a.Found) != 1 || a.Found[0].Text != "one" {
		t.Errorf("got %+v, %v", a, err)
	}
}

// A link that replaces a file after its path was checked isn't followed: the server, and the model, could have read a
// file outside the workspace.
func TestLinks(t *testing.T) {
	server := newScripted(t)
	s, dir := serve(t, server)
	path := write(t, dir, "a.x", "one\n")
	outside := write(t, t.TempDir(), "key", "one private\n")
	if err := os.Symlink(outside, dir+"/link.x"); err != nil {
		t.Skip(err)
	}
	server.answering("textDocument/references", []any{at(dir, "a.x", 0, 0, 3), at(dir, "link.x", 0, 0, 3)})
	if a, err := s.ask(References, path, 1, "one"); err != nil || len(a.Found) != 1 || a.Hidden != 1 {
		t.Errorf("an answer: %+v, %v", a, err)
	}
	if _, err := s.ask(References, dir+"/link.x", 1, "one"); !errors.Is(err, nofollow.ErrChanged) {
		t.Errorf("a question: %v", err)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	for _, text := range server.texts {
		if strings.Contains(text, "private") {
			t.Error("the server has it")
		}
	}
}

func TestRename(t *testing.T) {
	server := newScripted(t)
	s, dir := serve(t, server)
	a := write(t, dir, "a.x", "😀 old\n")
	write(t, dir, "b.x", "old old\n")
	write(t, dir, "secret.x", "old\n")
	change := func(name string, from, to int) map[string]any {
		return map[string]any{"textDocument": map[string]any{"uri": names.URI(dir + "/" + name)},
			"edits": []any{map[string]any{"range": at(dir, name, 0, from, to)["range"], "newText": "new"}}}
	}
	edited := func(name, edit string) map[string]any {
		return map[string]any{"textDocument": map[string]any{"uri": names.URI(dir + "/" + name)}, "edits": []any{json.RawMessage(edit)}}
	}
	for name, c := range map[string]struct {
		changes []any
		want    string
	}{
		"two files":   {[]any{change("b.x", 4, 7), change("a.x", 3, 6)}, ""},
		"overlapping": {[]any{change("b.x", 4, 7), change("b.x", 4, 6)}, "overlap"},
		"outside":     {[]any{change("../b.x", 4, 7)}, "/b.x, which is outside the project"},
		"hidden":      {[]any{change("secret.x", 0, 3)}, "/secret.x, which is outside the project, ignored, or not readable"},
		"a new file":  {[]any{map[string]any{"kind": "create", "uri": names.URI(dir + "/c.x")}}, "wants to create files"},
		"no such line": {[]any{map[string]any{"textDocument": map[string]any{"uri": names.URI(a)},
			"edits": []any{map[string]any{"range": Range{Position{7, 1}, Position{7, 2}}}}}}, "line 8, which doesn't exist"},
		"code":        {[]any{edited("b.x", `{"range": {"end": {"character": 3}}, "newText": "evil()"}`)}, "doesn't rename"},
		"lines":       {[]any{edited("a.x", `{"range": {"end": {"line": 1}}, "newText": ""}`)}, "doesn't rename"},
		"in an emoji": {[]any{change("a.x", 1, 2)}, "inside a character of line 1"},
	} {
		server.answering("textDocument/rename", map[string]any{"documentChanges": c.changes})
		a, err := s.ask(Rename, a, 1, "old")
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case c.want == "" && (err != nil || len(a.Edits) != 2 || a.Edits[0].Edits[0] != edit.Span{Start: 5, End: 8, New: "new"} ||
			a.Edits[1].Edits[0].Start != 4):
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

func TestKnown(t *testing.T) {
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
	for missing, want := range map[bool]string{
		false: "pyright=" + dir + "/bin/basedpyright-langserver",
		true:  "pyright=" + dir + "/bin/basedpyright-langserver zls=",
	} {
		var got []string
		list, err := Known(map[string]json.RawMessage{
			"gopls": json.RawMessage("null"), "zls": json.RawMessage(`{"command": ["zls"], "files": {".zig": "zig"}}`),
			"pyright": json.RawMessage(`{"command": ["basedpyright-langserver", "--stdio"]}`),
		})
		if err != nil || len(list) != 8 {
			t.Fatal(len(list), err)
		}
		for _, one := range Find(list, inside+":"+dir+"/bin", []string{dir + "/project"}, missing) {
			got = append(got, one.Name+"="+one.Program)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	// The error of a value of another kind named a type of Go.
	for _, bad := range []string{`{}`, `{"command": []}`, `[]`, `5`, `{"command": ["x"]}`, `{"command": "x", "files": {".x": "x"}}`} {
		if _, err := Known(map[string]json.RawMessage{"own": json.RawMessage(bad)}); err == nil ||
			!strings.HasPrefix(err.Error(), "own: expected {") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A question that ends, and a session that ends, don't wait for the server.
func TestEndedQuestions(t *testing.T) {
	server := newScripted(t)
	hold := make(chan struct{})
	server.does("textDocument/hover", func(json.RawMessage) (any, *failure) { <-hold; return nil, nil })
	s, dir := serve(t, server)
	path := write(t, dir, "a.x", "one\n")
	ctx, cancel := context.WithCancel(context.Background())
	server.does("$/cancelRequest", func(json.RawMessage) (any, *failure) { return nil, nil })
	go func() {
		waittest.Holds(func() bool { return server.saw("textDocument/hover") })
		cancel()
	}()
	if _, err := s.Ask(ctx, Question{Operation: Hover, Path: path, Line: 1, Name: "one", Wait: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.Close()
	close(hold)
	if !server.wasStopped() {
		t.Error("the process was not stopped")
	}
}
