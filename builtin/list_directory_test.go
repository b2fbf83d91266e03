package builtin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/tooltest"
)

func TestListDirectory(t *testing.T) {
	tooltest.Check(t, one(t, "list_directory"),
		tooltest.Try{Args: `{"path":"$WORK"}`, Files: map[string]string{"a": "x", "b/c": "y"}},
		tooltest.Try{Args: `{"path":"$WORK/a"}`, Files: map[string]string{"a": "x"}, Fails: true},
	)
}

func TestListDirectoryCutsHonestly(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	for i := range 1200 {
		files[fmt.Sprintf("f%04d", i)] = ""
	}
	put(t, dir, files)
	o := call(t, executor(open(t, dir)), "list_directory", args{"path": dir})
	text := o.Result.Text()
	if o.Status != tool.StatusSuccess || !strings.HasPrefix(text, "Listed 1200 item(s) in ") ||
		!strings.Contains(text, "f0999 (0 bytes)\n---\n[200 of 1200 items truncated") || strings.Contains(text, "f1000") {
		t.Errorf("%s: %s … %s", o.Status, text[:60], text[len(text)-200:])
	}
}

func TestListDirectorySpellsOutOddNames(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"a\nb": "", "c\x1b[2J": "", "d\xff": "", "e f": ""})
	text := call(t, executor(open(t, dir)), "list_directory", args{"path": dir}).Result.Text()
	for _, want := range []string{`"a\nb" (0 bytes)`, `"c\x1b[2J" (0 bytes)`, `"d\xff" (0 bytes)`, "\ne f (0 bytes)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in:\n%s", want, text)
		}
	}
}
