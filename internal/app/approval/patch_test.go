package approval_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/tool"
)

// Of a patch, some hunks of some files are written; the others stay as they are, and so does a file that isn't moved.
func TestPartsOfPatch(t *testing.T) {
	files := map[string]string{
		"a": "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "b": "b\r\nlast", "gone": "gone\n", "from": "old\n2\n3\n4\n5\n6\n7\n8\nlast\n", "script": "#!/bin/sh\n",
	}
	patch := `*** Begin Patch
*** Update File: a
@@
-1
+one
@@
-10
+ten
*** Update File: b
@@
-b
+B
*** Delete File: gone
*** Add File: new
+new
*** Update File: from
*** Move to: to
@@
-old
+moved
@@
-last
+end
*** Update File: script
*** Move to: bin
*** End Patch
`
	for name, c := range map[string]struct {
		take string // a letter for each part: y or n
		want map[string]string
	}{
		"a hunk":       {"ynnnnnnn", map[string]string{"a": "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"}},
		"other hunks":  {"nyynnnnn", map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n", "b": "B\r\nlast"}},
		"a deletion":   {"nnnynnnn", map[string]string{"gone": ""}},
		"a new file":   {"nnnnynnn", map[string]string{"new": "new\n"}},
		"a moved hunk": {"nnnnnynn", map[string]string{"from": "", "to": "moved\n2\n3\n4\n5\n6\n7\n8\nlast\n"}},
		"a move":       {"nnnnnnny", map[string]string{"script": "", "bin": "#!/bin/sh\n"}},
		"all but a move": {"yyyyyyyn", map[string]string{"a": "one\n2\n3\n4\n5\n6\n7\n8\n9\nten\n", "b": "B\r\nlast", "gone": "", "new": "new\n",
			"from": "", "to": "moved\n2\n3\n4\n5\n6\n7\n8\nend\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, files)
			tools, err := builtin.New(builtin.Options{Dir: dir, State: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer tools.Close()
			x := &tool.Executor{Registry: tool.NewRegistry(tools.All()...)}
			x.Ask = func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
				return tool.Decision{Verdict: tool.Allow}, nil
			}
			call(t, x, "read_many_files", map[string]any{"paths": []string{"*"}})
			x.Ask = func(_ context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
				var shown []string
				for _, f := range r.Confirm.(tool.FileDiff).Files {
					shown = append(shown, filepath.Base(f.Path))
				}
				if !slices.Equal(shown, []string{"a", "b", "gone", "new", "to", "bin"}) {
					t.Errorf("shown: %q", shown)
				}
				q := approval.Rules{}.Question(r, why)
				if len(q.Parts) != len(c.take) || q.Editable() {
					t.Fatalf("%+v", q.Parts)
				}
				var take []bool
				for _, letter := range c.take {
					take = append(take, letter == 'y')
				}
				out, err := q.Decide(approval.Answer{Act: approval.Parts, Take: take})
				return out.Decision, err
			}
			if o := call(t, x, "apply_patch", map[string]any{"input": patch}); o.Error != nil {
				t.Fatal(o.Result.Text())
			}
			want := maps.Clone(files)
			maps.Copy(want, c.want)
			maps.DeleteFunc(want, func(_, text string) bool { return text == "" })
			got := map[string]string{}
			for _, name := range []string{"a", "b", "gone", "new", "from", "to", "script", "bin"} {
				if content, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
					got[name] = string(content)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func call(t *testing.T, x *tool.Executor, name string, args any) tool.Outcome {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	batch := x.Batch(t.Context())
	batch.Add(tool.Call{Name: name, Args: raw})
	return batch.Wait()[0]
}
