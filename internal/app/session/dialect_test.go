package session

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/hooks"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/model/openai/openaitest"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/serve"
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

// dialectCalls returns the same edit of dir/src/a.txt, from y to x, as a call of each dialect, and of apply_patch through
// the shell.
func dialectCalls(dir string) map[string]tool.Call {
	anchor, _, _ := strings.Cut(edit.Anchored("y\n", "y\n", 1), "|")
	const patch = "*** Begin Patch\n*** Update File: src/a.txt\n@@\n-y\n+x\n*** End Patch\n"
	path := filepath.Join(dir, "src/a.txt")
	calls := map[string]tool.Call{}
	for how, c := range map[string]struct {
		name string
		args map[string]any
	}{
		"edit":        {"edit", map[string]any{"file_path": path, "old_string": "y", "new_string": "x"}},
		"apply_patch": {"apply_patch", map[string]any{"input": patch}},
		"edit_lines":  {"edit_lines", map[string]any{"file_path": path, "edits": []any{map[string]any{"first": anchor, "new_text": "x"}}}},
		"shell":       {"run_shell_command", map[string]any{"command": "apply_patch <<'EOF'\n" + patch + "EOF\n"}},
	} {
		raw, _ := json.Marshal(c.args)
		calls[how] = tool.Call{ID: how, Name: c.name, Args: raw}
	}
	return calls
}

// In a session and in the MCP server, settings and hooks treat all dialects alike.
func TestDialectsInSessions(t *testing.T) {
	const yolo = `"tools":{"approvalMode":"yolo"}`
	for name, c := range map[string]struct {
		settings string
		lands    bool
		text     string // in the result; "": not compared
	}{
		"default mode":            {``, false, "requires approval"},
		"auto-edit mode":          {`"tools":{"approvalMode":"auto-edit"}`, true, ""},
		"plan mode":               {`"tools":{"approvalMode":"plan"}`, false, "plan"},
		"a rule on the path":      {`"permissions":{"allow":["Edit(src/**)"]}`, true, ""},
		"a rule on another path":  {`"permissions":{"allow":["Edit(other/**)"]}`, false, "requires approval"},
		"a denied path":           {yolo + `,"permissions":{"deny":["Edit(src/**)"]}`, false, "deny rule"},
		"edit is denied":          {yolo + `,"permissions":{"deny":["edit"]}`, false, "deny rule"},
		"apply_patch is denied":   {yolo + `,"permissions":{"deny":["apply_patch"]}`, false, "deny rule"},
		"another tool is denied":  {yolo + `,"permissions":{"deny":["write_file"]}`, true, ""},
		"edit is excluded":        {`"tools":{"approvalMode":"yolo","trial":"off","exclude":["edit"]}`, false, ""},
		"edit_lines is excluded":  {`"tools":{"approvalMode":"yolo","trial":"off","exclude":["edit_lines"]}`, false, ""},
		"a hook on edits":         {yolo + `,"hooks":{` + hooking("PreToolUse", "Edit|Write", "echo never >&2; exit 2") + `}`, false, "denied by a hook: never"},
		"a hook on patches":       {yolo + `,"hooks":{` + hooking("PreToolUse", "^apply_.*", "exit 2") + `}`, false, "denied by a hook"},
		"a hook on another tool":  {yolo + `,"hooks":{` + hooking("PreToolUse", "Write|NotebookEdit", "exit 2") + `}`, true, ""},
		"a hook that approves it": {`"hooks":{` + hooking("PermissionRequest", "Edit", `echo '{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}'`) + `}`, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for front, start := range map[string]func(*testing.T, *tool.Executor) (func(tool.Call) string, func()){"session": caller, "MCP": clientOf} {
				d := newDesk(t)
				d.settle(t, `{`+c.settings+`}`)
				d.write(t, "src/a.txt", "y\n")
				s, err := d.try(&recording.Options{})
				if err != nil {
					t.Fatal(err)
				}
				do, stop := start(t, s.Executor)
				for how, call := range dialectCalls(d.dir) {
					d.write(t, "src/a.txt", "y\n")
					read, _ := json.Marshal(map[string]string{"absolute_path": filepath.Join(d.dir, "src/a.txt")})
					do(tool.Call{ID: "read before " + how, Name: "read_file", Args: read})
					got := do(call)
					want := "y\n"
					if c.lands {
						want = "x\n"
					}
					content, err := os.ReadFile(filepath.Join(d.dir, "src/a.txt"))
					if err != nil || string(content) != want || !strings.Contains(got, c.text) {
						t.Errorf("%s, %s: the file is %q (%v): %s", how, front, content, err, got)
					}
				}
				stop()
				s.Close()
			}
		})
	}
}

// caller returns a function that makes a call and returns the text of its result.
func caller(t *testing.T, x *tool.Executor) (do func(tool.Call) string, stop func()) {
	return func(c tool.Call) string {
		b := x.Batch(t.Context())
		b.Add(c)
		return b.Wait()[0].Result.Text()
	}, func() {}
}

// clientOf does the same as a client of the MCP server, which isn't asked.
func clientOf(t *testing.T, x *tool.Executor) (do func(tool.Call) string, stop func()) {
	t.Helper()
	in, toServer, err1 := os.Pipe()
	fromServer, out, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	server := serve.New(serve.Options{Session: func(serve.Client) (*tool.Executor, func(), error) { return x, nil, nil }})
	done := make(chan error, 1)
	go func() {
		done <- server.Stdio(context.Background(), in, out)
		out.Close()
	}()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	do = func(c tool.Call) (text string) {
		r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: c.Name, Arguments: c.Args})
		if err != nil {
			return err.Error()
		}
		for _, part := range r.Content {
			if one, ok := part.(*mcp.TextContent); ok {
				text += one.Text
			}
		}
		return text
	}
	return do, func() {
		toServer.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		client.Close()
	}
}

// A read-only subagent edits in no dialect, whether it has the tools or not.
func TestDialectsInSubagents(t *testing.T) {
	for how := range dialectCalls("") {
		for role, denial := range map[string]string{"explore": "", "planner": "plan", "helper": "has been updated"} {
			d := newDesk(t)
			put(t, filepath.Join(d.home, "agents", "planner.md"), "---\nname: planner\ndescription: Plans.\nmode: plan\n---\nPlan.\n")
			put(t, filepath.Join(d.home, "agents", "helper.md"), "---\nname: helper\ndescription: Helps.\ntools: Read, Edit, Bash\n---\nHelp.\n")
			d.settle(t, `{"tools":{"trial":"off"}}`)
			d.write(t, "src/a.txt", "y\n")
			c := dialectCalls(d.dir)[how]
			d.server = openaitest.Serve(t, openaitest.Script{Answers: []openaitest.Answer{
				{Calls: []openaitest.Call{call("1", "task", map[string]string{"description": "x", "prompt": "x", "subagent_type": role})}},
				{Calls: []openaitest.Call{call("2", "read_file", map[string]string{"absolute_path": filepath.Join(d.dir, "src/a.txt")})}},
				{Calls: []openaitest.Call{{ID: "3", Name: c.Name, Args: c.Args}}},
				{Expect: []string{denial}, Text: "tried"}, {Text: "done"},
			}})
			s, conversation := d.open(t, &recording.Options{})
			if got := d.say(t, conversation, "go"); got != "done" {
				t.Errorf("%s, %s: %s", how, role, got)
			}
			want := "y\n"
			if role == "helper" {
				want = "x\n"
			}
			if content, _ := os.ReadFile(filepath.Join(d.dir, "src/a.txt")); string(content) != want {
				t.Errorf("%s, %s: the file is %q: %s", how, role, content, d.lastRequest())
			}
			s.Close()
		}
	}
}
