package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/engine/redact"
	"github.com/adze-dev/adze/tool"
)

// The model sees a mask in place of a secret value. What it writes with a mask would destroy the value: it is an error, and
// nothing is written. Text that had the mask before can be edited.
func TestMaskIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	const token = "tok-abcdefghijkl"
	put(t, dir, map[string]string{
		".env.example": "A=1\nTOKEN=" + token + "\n", "doc.md": "A mask is " + redact.Masked + ".\nEnd\n", "new.ipynb": `{"cells":[{"id":"a","cell_type":"code","source":["x"],"metadata":{},"outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}`,
	})
	o := wired(dir)
	o.Environ = append(os.Environ(), "MY_TOKEN="+token)
	set, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	x := executor(set)
	x.Mask = set.Mask
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{".env.example", "doc.md", "new.ipynb"} {
		if o := call(t, x, "read_file", map[string]any{"absolute_path": at(name)}); strings.Contains(o.Result.Text(), token) || o.Status != tool.StatusSuccess {
			t.Fatal(o.Result.Text())
		}
	}
	for _, c := range []struct {
		name string
		args map[string]any
		ok   bool
	}{
		{"write_file", map[string]any{"file_path": at(".env.example"), "content": "A=2\nTOKEN=" + redact.Masked + "\n"}, false},
		{"write_file", map[string]any{"file_path": at("b"), "content": redact.Masked}, false},
		{"edit", map[string]any{"file_path": at(".env.example"), "old_string": "A=1", "new_string": "A=" + redact.Masked}, false},
		{"edit", map[string]any{"file_path": at(".env.example"), "old_string": "A=1\nTOKEN=" + redact.Masked, "new_string": "A=2"}, false},
		{"edit", map[string]any{"file_path": at("c"), "old_string": "", "new_string": "x " + redact.Masked}, false},
		{"notebook_edit", map[string]any{"notebook_path": at("new.ipynb"), "cell_id": "a", "new_source": "key = '" + redact.Masked + "'"}, false},
		{"save_memory", map[string]any{"fact": "the key is " + redact.Masked, "scope": "project"}, false},
		{"run_shell_command", map[string]any{"command": "echo TOKEN=" + redact.Masked + " > .env.example"}, false},
		{"edit", map[string]any{"file_path": at("doc.md"), "old_string": "A mask is " + redact.Masked + ".\nEnd", "new_string": "Masked: " + redact.Masked + ".\nThe end"}, true},
		{"edit", map[string]any{"file_path": at(".env.example"), "old_string": "A=1", "new_string": "A=2"}, true},
	} {
		o := call(t, x, c.name, c.args)
		if ok := o.Status == tool.StatusSuccess; ok != c.ok || !ok && !strings.Contains(o.Result.Text(), "stands for a secret value") {
			t.Errorf("%s %v: %s %s", c.name, c.args, o.Status, o.Result.Text())
		}
	}
	text, err := os.ReadFile(at(".env.example"))
	if err != nil || string(text) != "A=2\nTOKEN="+token+"\n" {
		t.Errorf("%q %v", text, err)
	}
}
