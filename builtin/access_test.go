package builtin

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/tool"
)

// An error of Prepare has the access it is about: the model gets the error only if policy allows reading that.
func TestErrorsHaveAccess(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{"a": "x", "sub/b": "x", ".aiignore": "key", "key": "x", "n.ipynb": "{}"})
	at := func(name string) string { return filepath.Join(dir, name) }
	reads := func(name string) []tool.Access { return []tool.Access{{Verb: tool.Reads, Target: name}} }
	both := func(name string) []tool.Access {
		return []tool.Access{{Verb: tool.Reads, Target: name}, {Verb: tool.Writes, Target: name}}
	}
	s := open(t, dir)
	for _, c := range []struct {
		tool string
		args args
		want []tool.Access
	}{
		{"list_directory", args{"path": at("none")}, reads(at("none") + "/")},
		{"list_directory", args{"path": at("a")}, reads(at("a") + "/")},
		{"read_file", args{"absolute_path": at("none")}, reads(at("none"))},
		{"read_file", args{"absolute_path": at("sub")}, reads(at("sub"))},
		{"read_file", args{"absolute_path": at("key")}, reads(at("key"))},
		{"read_file", args{"absolute_path": at("a/b")}, reads(at("a/b"))},
		{"write_file", args{"file_path": at("a"), "content": "y"}, both(at("a"))},
		{"write_file", args{"file_path": at("sub"), "content": "y"}, both(at("sub"))},
		{"write_file", args{"file_path": at("key"), "content": "y"}, both(at("key"))},
		{"edit", args{"file_path": at("none"), "old_string": "x", "new_string": "y"}, both(at("none"))},
		{"edit", args{"file_path": at("a"), "old_string": "x", "new_string": "y"}, both(at("a"))},
		{"notebook_edit", args{"notebook_path": at("n.ipynb"), "cell_id": "x", "new_source": "y"}, both(at("n.ipynb"))},
	} {
		raw, _ := json.Marshal(c.args)
		for _, tl := range s.Tools() {
			if tl.Declaration().Name != c.tool {
				continue
			}
			inv, err := tl.Prepare(t.Context(), raw)
			if err == nil || inv == nil {
				t.Fatalf("%s %s: %v, %v", c.tool, raw, inv, err)
			}
			if diff := cmp.Diff(c.want, inv.Access); diff != "" {
				t.Errorf("%s %s: %s", c.tool, raw, diff)
			}
		}
	}
}
