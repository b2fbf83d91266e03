package adze_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/dev/waittest"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/model/replay"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// recorded returns a model that plays turns.
func recorded(t *testing.T, lines ...string) model.Model {
	t.Helper()
	m, err := replay.Read(strings.NewReader(strings.Join(lines, "\n")), "test", replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// calls returns the turn of a model that makes a call.
func calls(id, name string, args map[string]any) string {
	text, _ := json.Marshal(map[string]any{"call": map[string]any{"id": id, "name": name, "args": args}})
	return string(text) + "\n" + `{"end":"calls"}`
}

const done = `{"text":"done"}` + "\n" + `{"end":"stop"}`

func opened(t *testing.T, options ...adze.Option) *adze.Agent {
	t.Helper()
	a, err := adze.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// ran runs a prompt, and returns its answer and the outcome of each call, by ID.
func ran(t *testing.T, a *adze.Agent, prompt string) (string, map[string]*tool.Outcome) {
	t.Helper()
	answer, outcomes := "", map[string]*tool.Outcome{}
	for e, err := range a.Run(t.Context(), prompt) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case adze.Call:
			if e.Stage == tool.Done {
				outcomes[e.Request.Call.ID] = e.Outcome
			}
		case adze.End:
			answer = e.Answer.Text
		}
	}
	return answer, outcomes
}

func shell(command string) tool.Call {
	args, _ := json.Marshal(map[string]string{"command": command})
	return tool.Call{Name: "run_shell_command", Args: args}
}

func allow(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
	return tool.Decision{Verdict: tool.Allow}, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// The model writes a file: the user is asked, the file is there, and undo removes it.
func TestRun(t *testing.T) {
	dir, questions := t.TempDir(), 0
	path := filepath.Join(dir, "a.txt")
	a := opened(t, adze.Dir(dir), adze.UseModel(recorded(t, `{"thought":"hm"}`, `{"text":"I write."}`,
		`{"usage":{"input":10,"output":2}}`, calls("1", "write_file", map[string]any{"file_path": path, "content": "x\n"}), done)),
		adze.Ask(func(_ context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
			questions++
			text := adze.Question(r, why)
			if exists(path) || !strings.Contains(text, "+x") || !strings.Contains(text, "\nNeeds approval: ") {
				t.Errorf("the question is %s", text)
			}
			return tool.Decision{Verdict: tool.Allow}, nil
		}))
	var got []string
	for e, err := range a.Run(t.Context(), "write a.txt") {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case adze.Call:
			if got = append(got, string(e.Stage)); e.Stage == tool.Done {
				got = append(got, fmt.Sprint(len(e.Outcome.Changes.List)))
			}
		case adze.Usage:
			got = append(got, fmt.Sprint(e.Input))
		case adze.End:
			got = append(got, "end "+e.Text)
			if u, err := a.Undo(t.Context()); err != nil || len(u.Restored) != 1 || len(u.Left) != 0 || exists(path) {
				t.Errorf("%+v %v", u, err)
			}
		default:
			got = append(got, fmt.Sprint(e))
		}
	}
	want := "hm, I write., 10, prepared, asking, running, done, 1, done, end done"
	if text := strings.Join(got, ", "); text != want || questions != 1 {
		t.Errorf("got %s, want %s; %d questions", text, want, questions)
	}
	if _, err := a.Undo(t.Context()); !errors.Is(err, adze.ErrNothing) {
		t.Error(err)
	}
}

// Calls that require approval are denied unless somebody says yes.
func TestDenied(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	for name, ask := range map[string]tool.Asker{
		"no asker": nil,
		"panics":   func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) { panic("oops") },
		"says nothing": func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			return tool.Decision{}, nil
		},
		"fails": func(context.Context, tool.Request, tool.Decision) (tool.Decision, error) {
			return tool.Decision{Verdict: tool.Allow}, errors.New("no answer")
		},
	} {
		a := opened(t, adze.Dir(dir), adze.Ask(ask), adze.UseModel(recorded(t,
			calls("1", "write_file", map[string]any{"file_path": path, "content": "x\n"}),
			calls("2", "run_shell_command", map[string]any{"command": "touch " + path}), done)))
		answer, outcomes := ran(t, a, "write")
		for _, id := range []string{"1", "2"} {
			if o := outcomes[id]; o == nil || o.Status == tool.StatusSuccess {
				t.Errorf("%s: call %s: %+v", name, id, o)
			}
		}
		if answer != "done" || exists(path) {
			t.Errorf("%s: %q, written: %t", name, answer, exists(path))
		}
	}
}

// Options that aren't understood are errors that name the option.
func TestWrongOptions(t *testing.T) {
	dir := adze.Dir(t.TempDir())
	for want, options := range map[string][]adze.Option{
		"no directory":                   nil,
		"adze.Dir: the path is empty":    {adze.Dir("")},
		"not a directory: /no/such":      {adze.Dir("/no/such")},
		"adze.Mode":                      {dir, adze.Mode("typo")},
		"adze.Allow":                     {dir, adze.Allow("Shell(")},
		"adze.Deny":                      {dir, adze.Deny("Nonsense(")},
		`unknown tool in "Bsh(rm:*)"`:    {dir, adze.Deny("Bsh(rm:*)")},
		`adze.BuiltIn: unknown tool "x"`: {dir, adze.BuiltIn("read_file", "x")},
		"adze.Model: the name is empty":  {dir, adze.Model("")},
		"adze.UseModel":                  {dir, adze.UseModel(nil)},
		"adze.Remote":                    {adze.Remote()},
		"adze.MCP":                       {dir, adze.MCP("", discover.Server{})},
		"adze.Journal":                   {dir, adze.Journal("")},
		"Remove one of them":             {dir, adze.Journal(t.TempDir()), adze.Settings()},
		"the name is already used":       {dir, adze.Tools(named("read_file"))},
		"adze.New: an option is nil":     {dir, nil},
	} {
		if a, err := adze.New(options...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
			if err == nil {
				a.Close()
			}
		}
	}
}

type nothing struct{}

// named returns a tool that does nothing.
func named(name string) tool.Tool {
	return tool.Define(tool.Def[nothing]{
		Name: name, Description: "Does nothing.", Kind: tool.Other,
		Prepare: func(context.Context, nothing) (*tool.Invocation, error) {
			return &tool.Invocation{
				Description: name, Access: []tool.Access{tool.Nothing},
				Run: func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("ok"), nil },
			}, nil
		},
	})
}

// The model gets the tools of the program, and only the built-in ones that it names. A hook sees every call.
func TestTools(t *testing.T) {
	var seen []string
	a := opened(t, adze.Dir(t.TempDir()), adze.Tools(named("deploy")), adze.BuiltIn("read_file"),
		adze.Hooks(hook.Hook{Event: hook.PreToolUse, Name: "log", Run: func(_ context.Context, in hook.Input) (hook.Output, error) {
			seen = append(seen, in.ToolName)
			return hook.Output{}, nil
		}}))
	var names []string
	for _, d := range a.Executor(t.Context()).Registry.All() {
		names = append(names, d.Name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"deploy", "read_file"}) {
		t.Errorf("tools %q", names)
	}
	if o := a.Call(t.Context(), tool.Call{Name: "deploy"}); o.Status != tool.StatusSuccess {
		t.Errorf("%+v", o)
	}
	if o := a.Call(t.Context(), shell("ls")); o.Status == tool.StatusSuccess {
		t.Error("run_shell_command ran")
	}
	if len(seen) != 1 || seen[0] != "deploy" {
		t.Errorf("the hook saw %q", seen)
	}
}

// Without a model, the tools for another loop don't include subagents, which need one.
func TestNoModel(t *testing.T) {
	for name, options := range map[string][]adze.Option{"with": {adze.Model("m")}, "without": nil} {
		a, found := opened(t, append(options, adze.Dir(t.TempDir()))...), false
		for _, d := range a.Executor(t.Context()).Registry.All() {
			found = found || d.Name == "task"
		}
		if found != (options != nil) {
			t.Errorf("%s a model: task is offered: %t", name, found)
		}
	}
	for _, err := range opened(t, adze.Dir(t.TempDir())).Run(t.Context(), "hello") {
		if !errors.Is(err, adze.ErrModel) || !strings.Contains(err.Error(), "Add adze.Model(name)") {
			t.Error(err)
		}
	}
}

// Modes and rules are those of the program.
func TestRules(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	write := func(a *adze.Agent) tool.Status {
		args, _ := json.Marshal(map[string]string{"file_path": path, "content": "x\n"})
		defer os.Remove(path)
		return a.Call(t.Context(), tool.Call{Name: "write_file", Args: args}).Status
	}
	for _, c := range []struct {
		name    string
		options []adze.Option
		want    tool.Status
	}{
		{"default", nil, tool.StatusDenied},
		{"auto-edit", []adze.Option{adze.Mode(permission.AutoEdit)}, tool.StatusSuccess},
		{"plan", []adze.Option{adze.Mode(permission.Plan), adze.Ask(allow)}, tool.StatusDenied},
		{"allow", []adze.Option{adze.Allow("Edit(/**)")}, tool.StatusSuccess},
		{"deny", []adze.Option{adze.Allow("Edit(/**)"), adze.Deny("Edit(/a.txt)"), adze.Ask(allow)}, tool.StatusDenied},
		{"ask", []adze.Option{adze.Mode(permission.Yolo), adze.AskFor("Edit(/a.txt)")}, tool.StatusDenied},
	} {
		if got := write(opened(t, append(c.options, adze.Dir(dir))...)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A server that embeds Adze obeys neither the home directory that it runs in nor the project: their settings allowed
// everything here, ran hooks and servers, and named a model.
func TestIsolated(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	trace := filepath.Join(t.TempDir(), "ran")
	hooks := fmt.Sprintf(`"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"touch %[1]s"}]}]},
		"mcpServers":{"x":{"command":"touch","args":["%[1]s"]}},"tools":{"toolDiscoveryCommand":"touch %[1]s"}`, trace)
	for path, text := range map[string]string{
		"/.adze/settings.json":     `{"permissions":{"allow":["Shell","Edit"]},"tools":{"approvalMode":"yolo"},` + hooks + `}`,
		"/.qwen/settings.json":     `{"tools":{"approvalMode":"yolo"}}`,
		"/.adze/.env":              "OPENAI_BASE_URL=http://127.0.0.1:9/\nOPENAI_MODEL=m\n",
		"/.adze/AGENTS.md":         "SECRETWORD",
		"/AGENTS.md":               "SECRETWORD",
		"/.adze/skills/s/SKILL.md": "---\nname: s\ndescription: SECRETWORD\n---\nx",
		"/.adze/agents/r.md":       "---\nname: r\ndescription: SECRETWORD\n---\nx",
	} {
		for _, top := range []string{home, dir} {
			if err := os.MkdirAll(filepath.Dir(top+path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(top+path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, value := range map[string]string{
		"HOME": home, "ADZE_HOME": filepath.Join(home, ".adze"), "QWEN_HOME": filepath.Join(home, ".qwen"),
		"ADZE_SANDBOX": "off", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
		"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "", "ANTHROPIC_API_KEY": "", "GEMINI_API_KEY": "", "GOOGLE_API_KEY": "",
	} {
		t.Setenv(name, value)
	}
	listing := func() (all []string) {
		filepath.WalkDir(home, func(path string, _ os.DirEntry, _ error) error {
			all = append(all, path)
			return nil
		})
		return all
	}
	before := listing()
	path := filepath.Join(dir, "a.txt")
	sent := &prompts{Model: recorded(t, calls("1", "write_file", map[string]any{"file_path": path, "content": "x"}),
		calls("2", "run_shell_command", map[string]any{"command": "touch " + path}), done)}
	a := opened(t, adze.Dir(dir), adze.UseModel(sent))
	_, outcomes := ran(t, a, "write")
	if outcomes["1"].Status != tool.StatusDenied || outcomes["2"].Status != tool.StatusDenied || exists(path) || exists(trace) {
		t.Errorf("%v %v; written %t, hooks or servers ran: %t", outcomes["1"].Status, outcomes["2"].Status, exists(path), exists(trace))
	}
	if sent.text == "" || strings.Contains(sent.text, "SECRETWORD") {
		t.Error("the model got definitions of the user or the project")
	}
	if after := listing(); !slices.Equal(before, after) {
		t.Errorf("the home directory has %q, had %q", after, before)
	}
	named := opened(t, adze.Dir(dir), adze.Model("m"))
	for _, err := range named.Run(t.Context(), "hello") {
		if !errors.Is(err, adze.ErrModel) {
			t.Errorf("a model of a .env file, or of a local server: %v", err)
		}
	}
}

// prompts keeps the system prompt and the declarations that a model gets.
type prompts struct {
	model.Model
	text string
}

func (p *prompts) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	p.text += r.System
	for _, d := range r.Tools {
		p.text += d.Description + string(d.Parameters)
	}
	return p.Model.Stream(ctx, r)
}

// Settings reads what isn't read otherwise.
func TestSettings(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("ADZE_HOME", filepath.Join(home, ".adze"))
	if err := os.MkdirAll(filepath.Join(home, ".adze"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{".adze/settings.json": `{"permissions":{"deny":["Shell(ls)"]}}`, ".adze/AGENTS.md": "SECRETWORD"} {
		if err := os.WriteFile(filepath.Join(home, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sent := &prompts{Model: recorded(t, calls("1", "run_shell_command", map[string]any{"command": "ls"}), done)}
	a := opened(t, adze.Dir(dir), adze.UseModel(sent), adze.Settings())
	if _, outcomes := ran(t, a, "write"); outcomes["1"].Status != tool.StatusDenied || !strings.Contains(sent.text, "SECRETWORD") {
		t.Errorf("%+v", outcomes["1"])
	}
}

// sleeping starts a run whose command sleeps, and returns once it runs.
func sleeping(dir string) []string {
	return []string{calls("1", "run_shell_command", map[string]any{"command": "echo $$ >pid; sleep 1000"}), done}
}

func ended(t *testing.T, dir string) {
	t.Helper()
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the command ended", func() bool { return !exists("/proc/" + strings.TrimSpace(string(pid))) })
}

// Leaving the loop, the end of a context, and Close end the command, and the session can be resumed.
func TestStops(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	for _, how := range []string{"break", "cancel", "close"} {
		t.Run(how, func(t *testing.T) {
			dir, journal := t.TempDir(), t.TempDir()
			options := []adze.Option{adze.Dir(dir), adze.Journal(journal), adze.Mode(permission.Yolo)}
			a := opened(t, append(options, adze.UseModel(recorded(t, sleeping(dir)...)))...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var failed error
			for e, err := range a.Run(ctx, "sleep") {
				failed = err
				if c, ok := e.(adze.Call); !ok || c.Stage != tool.Running {
					continue
				}
				waittest.Until(t, "the command runs", func() bool {
					pid, _ := os.ReadFile(filepath.Join(dir, "pid"))
					return strings.HasSuffix(string(pid), "\n")
				})
				switch how {
				case "cancel":
					cancel()
					continue
				case "close":
					if err := a.Close(); err != nil {
						t.Error(err)
					}
					continue
				}
				break
			}
			ended(t, dir)
			if how != "break" && !errors.Is(failed, context.Canceled) {
				t.Errorf("the error is %v", failed)
			}
			id := a.ID()
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			again := opened(t, append(options, adze.UseModel(recorded(t, done)))...)
			if err := again.Resume(id[:8]); err != nil || again.ID() != id {
				t.Fatal(err)
			}
			if all, err := again.Sessions(); err != nil || len(all) != 1 || all[0].ID != id {
				t.Errorf("%+v %v", all, err)
			}
			if answer, _ := ran(t, again, ""); answer != "done" {
				t.Errorf("answer %q", answer)
			}
			for _, err := range again.Run(t.Context(), "") {
				if err == nil || !strings.Contains(err.Error(), "the prompt is empty") {
					t.Error(err)
				}
			}
		})
	}
}

// One agent runs one prompt at a time.
func TestTwiceAtOnce(t *testing.T) {
	a := opened(t, adze.Dir(t.TempDir()), adze.UseModel(recorded(t, done, done)))
	for e := range a.Run(t.Context(), "first") {
		if _, ok := e.(adze.End); ok {
			continue
		}
		for _, err := range a.Run(t.Context(), "second") {
			if !errors.Is(err, adze.ErrBusy) {
				t.Error(err)
			}
		}
		if _, err := a.Undo(t.Context()); !errors.Is(err, adze.ErrBusy) {
			t.Error(err)
		}
		if err := a.Resume("abcd"); !errors.Is(err, adze.ErrBusy) {
			t.Error(err)
		}
	}
	if answer, _ := ran(t, a, "third"); answer != "done" {
		t.Errorf("answer %q", answer)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range a.Run(t.Context(), "late") {
		if !errors.Is(err, adze.ErrClosed) {
			t.Error(err)
		}
	}
}

// Agents in one directory, with one journal, don't disturb each other.
func TestTwoAgents(t *testing.T) {
	dir, journal := t.TempDir(), t.TempDir()
	var all sync.WaitGroup
	for i := range 4 {
		path := filepath.Join(dir, fmt.Sprintf("%d.txt", i))
		a := opened(t, adze.Dir(dir), adze.Journal(journal), adze.Ask(allow), adze.UseModel(recorded(t,
			calls("1", "write_file", map[string]any{"file_path": path, "content": "x"}),
			calls("2", "run_shell_command", map[string]any{"command": "ls"}), done)))
		all.Go(func() {
			for e, err := range a.Run(t.Context(), "write") {
				if c, ok := e.(adze.Call); err != nil || ok && c.Outcome != nil && c.Outcome.Status != tool.StatusSuccess {
					t.Errorf("%d: %v %+v", i, err, c.Outcome)
				}
			}
			if u, err := a.Undo(t.Context()); i%2 == 0 && (err != nil || len(u.Restored) != 1 || exists(path)) {
				t.Errorf("%d: %+v %v", i, u, err)
			}
		})
	}
	all.Wait()
}

// A program that doesn't call Main gets the line to add, or asks for each command.
func TestNeedsMain(t *testing.T) {
	if os.Getenv("ADZE_TEST_WITHOUT_MAIN") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNeedsMain$", "-test.v")
		cmd.Env = append(os.Environ(), "ADZE_TEST_WITHOUT_MAIN=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestNeedsMain") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	if a, err := adze.New(adze.Dir(dir)); runtime.GOOS == "linux" && (!errors.Is(err, adze.ErrMain) || a != nil ||
		!strings.Contains(err.Error(), "Add this line first in main, and in TestMain of tests: adze.Main()")) {
		t.Errorf("%v", err)
	}
	for _, options := range [][]adze.Option{nil, {adze.Mode(permission.Yolo)}, {adze.Allow("Shell(ls)")}} {
		a := opened(t, append(options, adze.Dir(dir), adze.WithoutSandbox())...)
		for _, command := range []string{"ls", "true", "touch x"} {
			if o := a.Call(t.Context(), shell(command)); o.Status != tool.StatusDenied {
				t.Errorf("%s: %s", command, o.Status)
			}
		}
	}
	a := opened(t, adze.Dir(dir), adze.WithoutSandbox(), adze.Ask(allow))
	if o := a.Call(t.Context(), shell("touch x")); o.Status != tool.StatusSuccess || !exists(filepath.Join(dir, "x")) {
		t.Errorf("%+v", o)
	}
}

// A server that can't be used is an error: without it, the model would have no tools for files.
func TestRemoteErrors(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // adze mcp serve was skipped, as in settings, unless it was behind ssh
	a := opened(t, adze.Remote("adze", "mcp", "serve"), adze.UseModel(recorded(t, done)))
	for _, err := range a.Run(t.Context(), "hello") {
		if err == nil || !strings.Contains(err.Error(), "adze.Remote: ") || strings.Contains(err.Error(), "skipped") {
			t.Error(err)
		}
	}
	for _, d := range a.Executor(t.Context()).Registry.All() {
		if d.Kind == tool.Read || d.Kind == tool.Edit || d.Kind == tool.Execute || d.Kind == tool.Search {
			t.Errorf("%s is a tool of this machine", d.Name)
		}
	}
	t.Setenv("ADZE_NESTED", "1")
	if _, err := adze.New(adze.Remote("true")); err == nil || !strings.Contains(err.Error(), "ADZE_NESTED") {
		t.Error(err)
	}
}
