package session

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/hooks"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Rules, hooks, lists of tools and modes mean an edit, in whatever dialect a model writes it.
func TestDialectsAreOneAction(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(dir+"/src", 0o755), os.WriteFile(dir+"/src/a.txt", []byte("y\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	set, err := builtin.New(builtin.Options{Dir: dir, AllRead: true})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var dialects []tool.Tool
	for _, one := range set.All() {
		if one.Declaration().Dialect != "" {
			dialects = append(dialects, one)
		}
	}
	anchor, _, _ := strings.Cut(edit.Anchored("y\n", "y\n", 1), "|")
	args := map[tool.Dialect]string{
		tool.ReplaceDialect: `{"file_path":"` + dir + `/src/a.txt","old_string":"y","new_string":"x"}`,
		tool.PatchDialect:   `{"input":"*** Begin Patch\n*** Update File: src/a.txt\n@@\n-y\n+x\n*** End Patch"}`,
		tool.AnchorDialect:  `{"file_path":"` + dir + `/src/a.txt","edits":[{"first":"` + anchor + `","new_text":"x"}]}`,
	}
	if len(dialects) != len(args) {
		t.Fatalf("%d dialects", len(dialects))
	}
	var judged []string
	for _, one := range dialects {
		d := one.Declaration()
		var got []string
		add := func(what string, yes bool) {
			if yes {
				got = append(got, what)
			}
		}
		for _, name := range []string{"edit", "Edit", "apply_patch", "edit_lines", "replace", "MultiEdit", "write_file", "read_file"} {
			out, err := permission.Excluding([]string{name})
			if err != nil {
				t.Fatal(err)
			}
			add("exclude "+name, out(d))
			role := agent.Role{Name: "r", Tools: []string{name}}
			add("role "+name, len(role.Unknown([]tool.Declaration{d})) == 0)
			add("hook "+name, slices.Contains(hooks.ToolNames(d), name))
		}
		inv, err := one.Prepare(t.Context(), json.RawMessage(args[d.Dialect]))
		if err != nil {
			t.Fatal(err)
		}
		r := tool.Request{Call: tool.Call{Name: d.Name}, Declaration: d, Invocation: *inv}
		for _, mode := range []permission.Mode{permission.Plan, permission.Default, permission.AutoEdit} {
			for _, text := range []string{"", "Edit(src/**)", "Edit(other/**)", "edit", "apply_patch", "edit_lines"} {
				for kind := range 3 {
					var lists [3][]string
					if text != "" {
						lists[kind] = []string{text}
					}
					rules, _, err := permission.ParseRules(lists[0], lists[1], lists[2])
					if err != nil {
						t.Fatal(err)
					}
					p := permission.New(permission.World{Roots: []string{dir}, Home: "/home/me"}, mode)
					p.SetRules(rules)
					got = append(got, mode.String()+" "+text+" "+p.Judge(r).Verdict.String())
				}
			}
		}
		judged = append(judged, strings.Join(got, "\n"))
		if !strings.Contains(judged[0], "exclude edit\nrole edit\nhook edit\nexclude Edit\n") {
			t.Errorf("%s: %s", d.Name, judged[0])
		}
		if judged[0] != judged[len(judged)-1] {
			t.Errorf("%s:\n%s\n%s:\n%s", dialects[0].Declaration().Name, judged[0], d.Name, judged[len(judged)-1])
		}
	}
}
