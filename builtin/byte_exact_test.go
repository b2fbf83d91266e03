package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/tool"
)

// exactTask is an edit of one line of a file whose other bytes must stay.
type exactTask struct {
	name             string
	before, now, end string // the lines before the edited one, and its end
	after            string
	encode           func(string) []byte
}

// exactTasks generates tasks: encodings, line endings, invisible characters, long lines and repeated blocks, at the start,
// in the middle and at the end of a file, with and without a final newline.
func exactTasks() []exactTask {
	encodings := map[string]func(string) []byte{
		"UTF-8":         func(s string) []byte { return []byte(s) },
		"UTF-8 mark":    func(s string) []byte { return append([]byte("\ufeff"), s...) },
		"UTF-16":        utf16le,
		"invalid UTF-8": func(s string) []byte { return append([]byte("caf\xe9\n"), s...) },
	}
	bodies := map[string]string{
		"plain":      "alpha\nbeta\n",
		"CRLF":       "alpha\r\nbeta\r\n",
		"mixed":      "alpha\r\nbeta\ngamma\r\n",
		"invisible":  "a\u200bb\nc\u00a0d  \n\te\u00ad \n",
		"typography": "it’s “so” – yes…\nplain 'x' \"y\"\n",
		"long line":  strings.Repeat("0123456789abcdef", 1<<16) + "\nshort\n",
		"repeated":   strings.Repeat("if x {\n\ty()\n}\n", 50),
		"blanks":     "  \n\t\n\n \n",
		"tabs":       "\tx\n  \ty\n",
		"wide":       "日本語 🙂 é é\nя\n",
	}
	var out []exactTask
	for e, encode := range encodings {
		for b, body := range bodies {
			if b == "long line" && e != "UTF-8" {
				continue // they take long
			}
			for _, where := range []string{"start", "middle", "end"} {
				for _, end := range []string{"\n", "\r\n"} {
					task := exactTask{fmt.Sprintf("%s, %s, %s, %q", e, b, where, end), body, "", end, body, encode}
					switch where {
					case "start":
						task.before = ""
					case "end":
						task.after = ""
						if end == "\n" {
							task.end = "" // without a final newline
						}
					}
					out = append(out, task)
				}
			}
		}
	}
	return out
}

func utf16le(s string) []byte {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}

// An edit changes its line and no other byte, in each dialect.
func TestByteExact(t *testing.T) {
	serial.Test(t)
	tasks := exactTasks()
	if len(tasks) < 200 {
		t.Fatalf("only %d tasks", len(tasks))
	}
	for _, task := range tasks {
		file := func(line string) []byte { return task.encode(task.before + line + task.end + task.after) }
		want := file("the NEW line: 2")
		dir := t.TempDir()
		path := filepath.Join(dir, "f.txt")
		for name, args := range map[string]any{
			editName:  map[string]string{"file_path": path, "old_string": "the OLD line: 1", "new_string": "the NEW line: 2"},
			patchName: applyPatchArgs{"*** Begin Patch\n*** Update File: f.txt\n@@\n-the OLD line: 1\n+the NEW line: 2\n*** End Patch"},
			linesName: nil, // made when the file is there
		} {
			if err := os.WriteFile(path, file("the OLD line: 1"), 0o644); err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			s, err := New(Options{Dir: dir, AllRead: true})
			if err != nil {
				t.Fatal(err)
			}
			if name == linesName {
				doc, err := text.Decode(file("the OLD line: 1"))
				if err != nil {
					t.Fatal(err)
				}
				raw = rework(editLinesArgs{path, []oneSpan{{First: anchorOf(t, doc.Text, "the OLD line: 1"), New: "the NEW line: 2"}}})
			}
			o := call(t, executor(s), name, json.RawMessage(raw))
			got, err := os.ReadFile(path)
			if o.Status != tool.StatusSuccess || err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s, %s: %v %v, %d bytes, want %d", task.name, name, o.Error, err, len(got), len(want))
			}
			s.Close()
		}
	}
}
