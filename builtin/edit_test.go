package builtin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

func TestEdit(t *testing.T) {
	tooltest.Check(t, one(t, "edit"),
		tooltest.Try{Args: `{"file_path":"$WORK/a","old_string":"old","new_string":"new"}`, Files: map[string]string{"a": "old"}},
		tooltest.Try{Args: `{"file_path":"$WORK/b/c","old_string":"","new_string":"new"}`},
		tooltest.Try{Args: `{"file_path":"$WORK/a","old_string":"none","new_string":"new"}`, Files: map[string]string{"a": "old"}, Fails: true},
	)
}

func TestLineChanges(t *testing.T) {
	const old = "one\ntwo\nthree\nfour\n"
	for _, c := range []struct {
		name  string
		spans []edit.Span
		want  []workspace.LineChange
	}{
		{"inside a line", []edit.Span{span(4, 7, "2")}, []workspace.LineChange{{At: 2, Removed: 1, Added: 1}}},
		{"a whole line", []edit.Span{span(4, 8, "2\n")}, []workspace.LineChange{{At: 2, Removed: 1, Added: 1}}},
		{"a line goes", []edit.Span{span(4, 8, "")}, []workspace.LineChange{{At: 2, Removed: 1, Added: 0}}},
		{"a line comes", []edit.Span{span(4, 4, "new\n")}, []workspace.LineChange{{At: 2, Removed: 1, Added: 2}}},
		{"two lines join", []edit.Span{span(3, 4, "")}, []workspace.LineChange{{At: 1, Removed: 2, Added: 1}}},
		{"twice in one line", []edit.Span{span(4, 5, "T"), span(6, 7, "O")}, []workspace.LineChange{{At: 2, Removed: 1, Added: 1}}},
		{"overlapping lines", []edit.Span{span(4, 5, "T"), span(6, 9, "x\ny\n")}, []workspace.LineChange{{At: 2, Removed: 2, Added: 3}}},
		{"at the end", []edit.Span{span(14, 19, "4")}, []workspace.LineChange{{At: 4, Removed: 2, Added: 1}}},
	} {
		if diff := cmp.Diff(c.want, lineChanges(old, c.spans)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func span(start, end int, text string) edit.Span { return edit.Span{Start: start, End: end, New: text} }

// An edit of a 60 MB file took 1 GB: the text was copied for each form of it, and the result had the old and the new content,
// which were encoded to look for secret values, and again for the journal.
func TestEditOfALargeFile(t *testing.T) {
	serial.Test(t)
	for _, c := range []struct {
		name, line, end string
		copies          float64 // that are allocated, at most
	}{
		{"LF", strings.Repeat("x", 40), "\n", 2},
		{"CRLF", strings.Repeat("x", 40), "\r\n", 3}, // the first one is garbage when the last one is made
		{"one line", strings.Repeat("é", 40), " ", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			half := strings.Repeat(c.line+c.end, 60_000)
			old, now := half+"the mark"+c.end+half, half+"another"+c.end+half
			size := float64(len(old))
			if err := os.WriteFile(path, []byte(old), 0o644); err != nil {
				t.Fatal(err)
			}
			x := executor(open(t, dir))
			x.Mask = func(s string) string { return s }
			call(t, x, "read_file", args{"file_path": path, "limit": 1})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			o := call(t, x, "edit", args{"file_path": path, "old_string": "the mark", "new_string": "another"})
			raw, err := json.Marshal(o.Result)
			runtime.ReadMemStats(&after)
			if err != nil || o.Status != tool.StatusSuccess {
				t.Fatal(err, o.Error)
			}
			if content, _ := os.ReadFile(path); string(content) != now {
				t.Errorf("the file has %d bytes, want %d", len(content), len(now))
			}
			if d := o.Result.Display.(tool.FileDiff); !strings.Contains(d.Diff, "the mark") || !strings.Contains(d.Diff, "another") {
				t.Errorf("the diff doesn't show the change: %.2000q", d.Diff)
			}
			if len(raw) > 100_000 {
				t.Errorf("the result has %d bytes", len(raw))
			}
			if got, limit := float64(after.TotalAlloc-before.TotalAlloc), (c.copies+0.3)*size; got > limit {
				t.Errorf("allocated %.1f MB for a file of %.1f MB, want at most %.1f", got/1e6, size/1e6, limit/1e6)
			}
		})
	}
}
