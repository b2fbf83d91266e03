package builtin

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// The edited text is written, and the model is informed.
func TestRework(t *testing.T) {
	for name, c := range map[string]struct {
		first string
		tool  string
		args  args
		want  string
	}{
		"a new file":      {"", "write_file", args{"content": "model\n"}, "model, mended\n"},
		"an overwrite":    {"old\r\nlast\r\n", "write_file", args{"content": "model\nlast\n"}, "model, mended\r\nlast\r\n"},
		"an edit":         {"old\nlast\n", "edit", args{"old_string": "old", "new_string": "model"}, "model, mended\nlast\n"},
		"in a mixed file": {"old\r\nnext\nlast", "edit", args{"old_string": "old", "new_string": "model"}, "model, mended\r\nnext\nlast"},
		"made by an edit": {"", "edit", args{"old_string": "", "new_string": "model"}, "model, mended"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a")
			if c.first != "" {
				put(t, dir, map[string]string{"a": c.first})
			}
			x := executor(open(t, dir))
			call(t, x, "read_file", args{"absolute_path": path})
			x.Policy = nil
			asked := 0
			x.Ask = func(_ context.Context, r tool.Request, _ tool.Decision) (tool.Decision, error) {
				asked++
				edited := strings.Replace(r.Confirm.(tool.FileDiff).New, "model", "model, mended", 1)
				return tool.Decision{Verdict: tool.Allow, Args: r.Rework(&edited)}, nil
			}
			c.args["file_path"] = path
			o := call(t, x, c.tool, c.args)
			if got, _ := os.ReadFile(path); string(got) != c.want || asked != 1 {
				t.Errorf("asked %d times, wrote %q: %s", asked, got, o.Result.Text())
			}
			if !strings.Contains(o.Result.Text(), "Note: the user edited this call") {
				t.Errorf("the model is not told: %s", o.Result.Text())
			}
		})
	}
}
