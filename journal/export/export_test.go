package export

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/adze-dev/adze/journal"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

const hostile = `</pre></div><script>alert(1)</script><img src="http://example.com/x" onerror=alert(1)>" onload="x" '--><!--` + "\x1b[31m\u202e```\n# heading\n"

func says(role model.Role, parts ...model.Part) model.Message {
	return model.Message{Role: role, Parts: parts}
}

func runs(id, name, args string) model.Call {
	return model.Call{Call: tool.Call{ID: id, Name: name, Args: json.RawMessage(args)}}
}

// demo returns a session that shows everything once.
func demo(t *testing.T) (journal.Log, journal.Blobs) {
	t.Helper()
	png, _ := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	read, edit := runs("c1", "read_file", `{"absolute_path":"/home/user/parser/lex.go"}`), runs("c2", "edit", `{"file_path":"/home/user/parser/lex.go","old_string":"i <= n","new_string":"i < n"}`)
	test, kill, sub := runs("c3", "run_shell_command", `{"command":"go test ./..."}`), runs("c4", "run_shell_command", `{"command":"make"}`), runs("s1", "grep_search", `{"pattern":"lex("}`)
	original := "for i := 0; i <= n; i++ {\n"
	diff := tool.FileDiff{File: "lex.go", Path: "/home/user/parser/lex.go", Original: &original,
		Diff: "--- lex.go\n+++ lex.go\n@@ -10,5 +10,5 @@\n func lex(n int) {\n-\tfor i := 0; i <= n; i++ {\n+\tfor i := 0; i < n; i++ {\n \t\tnext(i)\n \t}\n }\n"}
	done := func(c model.Call, r tool.Result, ms int64) journal.Finished {
		return journal.Finished{ID: c.ID, Outcome: journal.Outcome{Name: c.Name, Status: tool.StatusSuccess, Result: r, MS: ms}}
	}
	failed := done(test, tool.TextResult("exit code 1\n"+strings.Repeat("--- FAIL: TestLex\n", 30)), 8200)
	failed.Outcome.Status, failed.Outcome.Error = tool.StatusError, &journal.Failure{Type: "execution_failed", Message: "exit code 1"}
	type step struct {
		by   string
		data journal.Data
	}
	steps := []step{
		{"", journal.Opened{ID: "123e4567-e89b-42d3-a456-426614174000", CWD: "/home/user/parser", Model: "qwen3-coder", Mode: "default", Parent: &journal.Parent{ID: "0a", Seq: 7}}},
		{"", journal.Message{Message: says(model.User, model.Text("The lexer reads past the end of the input.\nFix it, and run the tests."), model.Media{Media: tool.Media{MIMEType: "image/png", Data: png}})}},
		{"", journal.Asked{Turn: 1}},
		{"", journal.Called{Turn: 1, Call: read}},
		{"", journal.Started{ID: "c1", Name: "read_file"}},
		{"", journal.Answer{Turn: 1, MS: 2300, Usage: model.Usage{Input: 12_300, CacheRead: 9_000, Output: 210}, Message: says(model.Assistant, model.Thought("The loop condition is probably wrong."), model.Text("I'll read the lexer first."), read)}},
		{"", done(read, tool.TextResult(strings.Repeat("func lex(n int) { … }\n", 40)), 3)},
		{"explore-1", journal.Asked{Turn: 1}},
		{"explore-1", journal.Called{Turn: 1, Call: sub}},
		{"explore-1", done(sub, tool.TextResult("lex.go:10: func lex(n int) {"), 41)},
		{"explore-1", journal.Answer{Turn: 1, MS: 900, Usage: model.Usage{Input: 4_000, Output: 50}, Message: says(model.Assistant, model.Text("One caller."), sub)}},
		{"", journal.Asked{Turn: 2}},
		{"", journal.Called{Turn: 2, Call: edit}},
		{"", done(edit, tool.Result{Content: []tool.Part{tool.Text("Edited lex.go.")}, Display: diff}, 12)},
		{"", journal.Answer{Turn: 2, MS: 4100, Usage: model.Usage{Input: 14_100, CacheRead: 12_300, Output: 480}, Message: says(model.Assistant, model.Text("The loop runs once too often:\n\n```go\nfor i := 0; i < n; i++ {\n```\nFixed."), edit)}},
		{"", journal.Mode{Mode: "auto-edit"}},
		{"", journal.Message{Kind: journal.News, Message: model.Prompt("lex.go was changed by another program.")}},
		{"", journal.Called{Turn: 3, Call: test}},
		{"", failedWith(failed, journal.Change{Path: "/home/user/parser/a.go", Before: "h:1", After: "h:2"},
			journal.Change{Path: "/home/user/parser/d", After: "dir"}, journal.Change{Path: "/home/user/parser/d/b&c", After: "h:1"},
			journal.Change{Path: "/tmp/gone", Before: "h:1"})},
		{"", journal.Answer{Turn: 3, MS: 1500, Usage: model.Usage{Input: 15_000, CacheRead: 14_100, Output: 90}, Message: says(model.Assistant, test)}},
		{"", journal.Compacted{Messages: []model.Message{model.Prompt("summary")}}},
		{"", journal.Message{Message: model.Prompt(hostile)}},
		{"", journal.Answer{Turn: 4, MS: 700, Error: "connection reset " + hostile, Usage: model.Usage{Input: 3_000, Output: 10}, Message: says(model.Assistant, model.Thought(hostile), model.Text(hostile))}},
		{hostile, journal.Called{Turn: 5, Call: runs("h", hostile, `{"a":`+quoted(hostile)+`}`)}},
		{hostile, journal.Finished{ID: "h", Outcome: journal.Outcome{Name: hostile, Status: tool.Status(hostile), Result: tool.Result{Content: []tool.Part{tool.Text(hostile), tool.Media{MIMEType: hostile, Data: png}}, Display: tool.FileDiff{Path: hostile, Diff: "+" + hostile}}}}},
		{"", journal.Called{Turn: 5, Call: kill}},
		{"", journal.Started{ID: "c4", Name: "run_shell_command"}},
	}
	log, blobs := &journal.Memory{}, &journal.MemoryBlobs{}
	w := journal.NewWriter(log, blobs, journal.State{})
	at := time.Date(2026, 11, 16, 6, 0, 0, 0, time.UTC)
	w.Now = func() time.Time { at = at.Add(3 * time.Second); return at }
	for _, s := range steps {
		if _, err := w.Write(s.by, s.data); err != nil {
			t.Fatal(err)
		}
	}
	return log, blobs
}

func failedWith(f journal.Finished, changes ...journal.Change) journal.Finished {
	f.Changes = changes
	return f
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// The page has only elements and attributes that this package writes, whatever the session contains.
func TestHTMLEscapesEverything(t *testing.T) {
	log, blobs := demo(t)
	var b bytes.Buffer
	if err := HTML(&b, log.Read(1), blobs); err != nil {
		t.Fatal(err)
	}
	elements := strings.Fields("html head meta title style body main header h1 h2 h3 dl div dt dd section figure figcaption table tbody tr th td span svg line text g rect i article p pre code details summary time img")
	attributes := strings.Fields("lang charset http-equiv content name class data-nested style scope open alt src viewbox viewBox role aria-label x y x1 x2 y1 y2 width height text-anchor")
	z := html.NewTokenizer(&b)
	for z.Next() != html.ErrorToken {
		token := z.Token()
		if token.Type == html.CommentToken {
			t.Errorf("a comment: %s", token)
		}
		if token.Type != html.StartTagToken && token.Type != html.SelfClosingTagToken {
			continue
		}
		if !slices.Contains(elements, token.Data) {
			t.Errorf("element %s", token)
		}
		for _, a := range token.Attr {
			if !slices.Contains(attributes, a.Key) || a.Key == "src" && !strings.HasPrefix(a.Val, "data:image/png;base64,") {
				t.Errorf("attribute %s of %s", a.Key, token)
			}
		}
	}
	if strings.Contains(style, "url(") || strings.Contains(style, "@import") {
		t.Error("the style loads something")
	}
}

func TestExports(t *testing.T) {
	log, blobs := demo(t)
	formats := map[string]func() (string, error){
		"html": func() (string, error) {
			var b strings.Builder
			err := HTML(&b, log.Read(1), blobs)
			return b.String(), err
		},
		"md": func() (string, error) {
			var b strings.Builder
			err := Markdown(&b, log.Read(1), blobs)
			return b.String(), err
		},
		"json": func() (string, error) {
			var b strings.Builder
			err := JSON(&b, log.Read(1), blobs)
			return b.String(), err
		},
	}
	want := map[string][]string{
		"html": {"The lexer reads past the end", `<span class="added">+	for i := 0; i &lt; n; i++ {`, `class="call unknown"`, "iVBORw0KGgo", "subagent explore-1", "<svg", "48,400 input (35,400 cached), 840 output", "Forked from", "Approval mode: auto-edit.",
			`<p class="path">Changed: a.go, d/b&amp;c (new), /tmp/gone (deleted)</p>`},
		"md":   {"# The lexer reads past the end", "```diff\n--- lex.go", "### run_shell_command: unknown", "## Assistant (subagent explore-1)", "> The loop condition", "*Approval mode: auto-edit.*", "[image/png, 70 bytes]"},
		"json": {`"type":"session.opened"`, "iVBORw0KGgo"},
	}
	for name, export := range formats {
		got, err := export()
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want[name] {
			if !strings.Contains(got, w) {
				t.Errorf("%s has no %q:\n%.2000s", name, w, got)
			}
		}
	}
	text, _ := formats["json"]()
	var doc struct {
		Format  string
		Entries []journal.Entry
		Error   string
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || doc.Format != "adze.session" || len(doc.Entries) < 20 || strings.Contains(text, "sha256:") || doc.Error != "" {
		t.Errorf("%v, %d entries", err, len(doc.Entries))
	}
}

// A broken journal is exported up to the line, and any other error is an error.
func TestBrokenJournal(t *testing.T) {
	log, blobs := demo(t)
	upTo := func(err error) iter.Seq2[journal.Entry, error] {
		return func(yield func(journal.Entry, error) bool) {
			for e := range log.Read(1) {
				if e.Seq == 5 {
					yield(journal.Entry{}, err)
					return
				}
				if !yield(e, nil) {
					return
				}
			}
		}
	}
	broken := &journal.BrokenError{Path: "journal.jsonl", Line: 5}
	for name, export := range map[string]func(w *strings.Builder, err error) error{
		"html": func(w *strings.Builder, err error) error { return HTML(w, upTo(err), blobs) },
		"md":   func(w *strings.Builder, err error) error { return Markdown(w, upTo(err), blobs) },
		"json": func(w *strings.Builder, err error) error { return JSON(w, upTo(err), blobs) },
	} {
		var b strings.Builder
		if err := export(&b, broken); err != nil || !strings.Contains(b.String(), "line 5 of journal.jsonl") {
			t.Errorf("%s: %v", name, err)
		}
		if err := export(&b, os.ErrPermission); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: %v", name, err)
		}
		var missing strings.Builder
		if err := export(&missing, broken); err != nil || missing.Len() == 0 {
			t.Errorf("%s without its contents: %v", name, err)
		}
	}
	var b strings.Builder
	if err := HTML(&b, log.Read(1), &journal.MemoryBlobs{}); err != nil || !strings.Contains(b.String(), "bytes are missing here") {
		t.Errorf("contents are missing: %v", err)
	}
}

// TestBrowser takes pictures of the page, light and dark, to look at: make test-browser.
func TestBrowser(t *testing.T) {
	dir := os.Getenv("ADZE_BROWSER")
	if dir == "" {
		t.Skip("set ADZE_BROWSER to a directory for the pictures")
	}
	log, blobs := demo(t)
	path := filepath.Join(dir, "session.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(HTML(f, log.Read(1), blobs), f.Close()); err != nil {
		t.Fatal(err)
	}
	for scheme, flag := range map[string]string{"light": "--blink-settings=preferredColorScheme=1", "dark": "--blink-settings=preferredColorScheme=0"} {
		picture := filepath.Join(dir, "session-"+scheme+".png")
		cmd := exec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", flag,
			"--user-data-dir="+t.TempDir(), "--window-size=1000,3000", "--screenshot="+picture, "file://"+path)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		info, err := os.Stat(picture)
		if err != nil || info.Size() < 50_000 {
			t.Errorf("%s: %v", picture, err)
			continue
		}
		fmt.Println(picture)
	}
}
