package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// sitting is a user at a terminal who types given lines, and a session in its own directory.
type sitting struct {
	dir    string
	screen bytes.Buffer
	exec   *tool.Executor
}

func sit(t *testing.T, typed, editor string) *sitting {
	t.Helper()
	s := &sitting{dir: project.Canonical(t.TempDir())}
	tools, err := builtin.New(builtin.Options{Dir: s.dir, State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tools.Close() })
	policy := permission.New(permission.World{Roots: tools.Roots()}, permission.Default)
	var stdin io.Reader = strings.NewReader(typed)
	if typed != "" { // who has typed something is still there
		still, gone := io.Pipe()
		t.Cleanup(func() { gone.Close() })
		stdin = io.MultiReader(stdin, still)
	}
	env := Streams{Stdin: stdin, Stderr: &s.screen, Getenv: func(name string) string {
		return map[string]string{"EDITOR": editor}[name]
	}}
	s.exec = &tool.Executor{Registry: tool.NewRegistry(tools.Tools()...), Policy: policy.Judge, Ask: terminalOf(env, policy).ask, AskInTurn: true}
	return s
}

// asking is a front end as an executor calls it.
type asking struct{ ask tool.Asker }

func terminalOf(env Streams, p *permission.Policy) asking {
	return asking{approval.Rules{Policy: p}.Asker(NewAsker(env, NewScreen(env)).Ask)}
}

// prompted is what a terminal shows about a call before an answer. The rules can be saved.
func prompted(t *testing.T, r tool.Request, why tool.Decision, typed string) string {
	t.Helper()
	var screen strings.Builder
	env := Streams{Stdin: strings.NewReader(typed), Stderr: &screen, Getenv: func(string) string { return "" }}
	save := func(approval.Scope, string) (string, error) { return "", errors.New("not here") }
	if _, err := (approval.Rules{Save: save}).Asker(NewAsker(env, NewScreen(env)).Ask)(t.Context(), r, why); err != nil {
		t.Error(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(screen.String(), "\n"), "\n")
}

// write writes files in one turn and tells how each ended.
func (s *sitting) write(t *testing.T, names ...string) []tool.Outcome {
	t.Helper()
	b := s.exec.Batch(t.Context())
	for _, name := range names {
		args, err := json.Marshal(map[string]string{"file_path": filepath.Join(s.dir, name), "content": "text\n"})
		if err != nil {
			t.Fatal(err)
		}
		b.Add(tool.Call{Name: "write_file", Args: args})
	}
	return b.Wait()
}

func statuses(os []tool.Outcome) string {
	var s []string
	for _, o := range os {
		s = append(s, string(o.Status))
	}
	return strings.Join(s, " ")
}

func TestTerminalAnswers(t *testing.T) {
	for _, c := range []struct{ typed, files, want string }{
		{"y\n", "a", "success"},
		{"yes\n", "a", "success"},
		{"n\n", "a", "denied"},
		{"what?\n\nY\n", "a", "success"}, // asked again until it is an answer
		{"", "a", "denied"},              // the terminal is gone
		{"s\n", "a b c", "success success success"},
		{"a\n", "a b c", "success success success"},      // the old key
		{"y\nn\ny\n", "a b c", "success denied success"}, // in the order of the calls
	} {
		s := sit(t, c.typed, "")
		got := statuses(s.write(t, strings.Fields(c.files)...))
		if got != c.want {
			t.Errorf("typed %q: got %s, want %s; screen:\n%s", c.typed, got, c.want, s.screen.String())
		}
	}
}

func TestTerminalShowsWhatItAsks(t *testing.T) {
	s := sit(t, "y\n", "")
	s.write(t, "a")
	for _, want := range []string{"WriteFile  write a\n", "+text", "\n  Needs approval: writes ", "\n  y  yes, once\n  s  yes, for this session         Edit(/**)\n  e  edit    n  no    ?  help\nAllow? [y/s/e/n] "} {
		if !strings.Contains(s.screen.String(), want) {
			t.Errorf("the screen lacks %q:\n%s", want, s.screen.String())
		}
	}
}

// A line is shown to the byte, and beside it what the policy read: quoting and nesting hide nothing.
func TestTerminalShowsWhatItUnderstood(t *testing.T) {
	for line, want := range map[string]string{
		`make all`: "",
		`cd src && r\m -rf "a b" > log; env X=1 sh -c 'touch c'`: `  Understood as:
    cd src
    rm -rf 'a b' > log
    env X=1 sh -c 'touch c'
    sh -c 'touch c' (run by env)
    touch c (run by sh)
`,
		"find . -name '*.o' | xargs rm": "  Understood as:\n    find . -name '*.o'\n    xargs rm\n    rm … (run by xargs)\n",
		"echo $(rm x)\u202E":            "  Understood as:\n    rm x\n    echo $(rm x)\\u202E\n",
	} {
		s := sit(t, "n\n", "")
		args, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		b := s.exec.Batch(t.Context())
		b.Add(tool.Call{Name: "run_shell_command", Args: args})
		b.Wait()
		_, shown, _ := strings.Cut(s.screen.String(), "  Understood as:\n")
		shown, _, _ = strings.Cut(shown, "  Sandbox: off\n")
		if shown != strings.TrimPrefix(want, "  Understood as:\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", line, s.screen.String(), want)
		}
	}
}

// What the user saves in the editor is what is written, and the model learns of it.
func TestTerminalEdits(t *testing.T) {
	s := sit(t, "e\n", "sed -i s/text/better/")
	o := s.write(t, "a")[0]
	content, err := os.ReadFile(filepath.Join(s.dir, "a"))
	if err != nil || string(content) != "better\n" || !strings.Contains(o.Result.Text(), "Note: the user edited this call") {
		t.Errorf("%q, %v, %+v", content, err, o)
	}
	s = sit(t, "e\nn\n", "true") // nothing was changed: asked again
	if got := statuses(s.write(t, "a")); got != "denied" {
		t.Errorf("got %s", got)
	}
	s = sit(t, "e\ny\n", "false") // the editor failed: asked again
	if got := statuses(s.write(t, "a")); got != "success" || !strings.Contains(s.screen.String(), "run the editor") {
		t.Errorf("got %s; screen:\n%s", got, s.screen.String())
	}
}

func TestTerminalWithdraws(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	term := terminalOf(Streams{Stdin: r, Stderr: &bytes.Buffer{}, Getenv: func(string) string { return "" }}, nil)
	cancel()
	if _, err := term.ask(ctx, tool.Request{}, tool.Decision{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// An approval of one page for the session used to approve every host.
func TestTerminalSessionRuleIsForOneHost(t *testing.T) {
	for want, c := range map[string]struct {
		access tool.Access
		offer  []string
	}{
		"WebFetch(domain:one.example)": {tool.Access{Verb: tool.Reaches, Target: "one.example"}, []string{"WebFetch(domain:one.example)", "WebFetch"}},
		"WriteFile":                    {tool.Access{Verb: tool.Writes, Target: "/a"}, []string{"Edit(/a)", "WriteFile"}},
		"":                             {tool.Access{Verb: tool.Reaches, Target: "one.example"}, nil},
	} {
		r := tool.Request{Invocation: tool.Invocation{Access: []tool.Access{c.access}}}
		q := approval.Rules{}.Question(r, tool.Decision{Verdict: tool.Ask, Offer: c.offer})
		if got, _, _ := q.Typed(approval.Lines, "s"); got.Rule != want {
			t.Errorf("%v: always is %q, want %q", c.offer, got.Rule, want)
		}
	}
}

// What the user says after a no reaches the model.
func TestTerminalTakesAReason(t *testing.T) {
	for typed, want := range map[string]string{
		"n":                             "",
		"No":                            "",
		"n because it is not needed":    "it is not needed",
		"no, Because":                   "Because",
		"n: use make instead":           "use make instead",
		"N, use `make test`, please":    "use `make test`, please",
		"no\tthe tests come first: run": "the tests come first: run",
	} {
		s := sit(t, typed+"\n", "")
		o := s.write(t, "a")[0]
		message := "Permission denied: write a: denied by the user"
		if want != "" {
			message += ": " + want
		}
		message += ". Don't retry it. Ask what they want instead, or continue without it."
		if o.Status != tool.StatusDenied || o.Result.Text() != message {
			t.Errorf("%q: %s %q, want %q", typed, o.Status, o.Result.Text(), message)
		}
	}
	for _, typed := range []string{"nope", "not now", "n't", "none", "", "because"} {
		if _, ok := approval.IsNo(typed); ok {
			t.Errorf("%q is taken for a no", typed)
		}
	}
}

// A prompt has one choice per line, and shows only the choices that apply.
func TestPermissionPrompt(t *testing.T) {
	run := tool.Request{
		Declaration: tool.Declaration{Name: "run_shell_command", DisplayName: "Shell"},
		Invocation: tool.Invocation{Description: "run make test …",
			Confirm: tool.Command{Line: "make test && rm -rf build", Sandbox: "off"}},
	}
	why := tool.Decision{Verdict: tool.Ask, Reason: "make and rm are not on the read-only list", Cause: tool.Cause{Kind: tool.ByMode, Mode: "default"},
		Offer: []string{"Shell(make test)\nShell(rm -rf build)"}}
	run.Rework = func(...*string) json.RawMessage { return nil }
	got := prompted(t, run, why, "n\n")
	want := `Shell  make test && rm -rf build
  Needs approval: make and rm are not on the read-only list (mode: default)
  Sandbox: off
  y  yes, once
  s  yes, for this session         Shell(make test), Shell(rm -rf build)
  p  yes, always in this project   saves to .adze/settings.json
  u  yes, always, all projects     saves to ~/.adze/settings.json
  e  edit    n  no    ?  help
Allow? [y/s/p/u/e/n] `
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := prompted(t, run, why, "x\nn\n"), "Type y, s, p, u, e or n (? for help)."; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	other := tool.Request{}
	why = tool.Decision{Offer: []string{"Edit(/n.txt)", "WriteFile"}}
	want = `  y  yes, once
  s  yes, for this session         WriteFile (wider than p and u: every call)
  p  yes, always in this project   saves Edit(/n.txt) to .adze/settings.json
  u  yes, always, all projects     saves Edit(/n.txt) to ~/.adze/settings.json
  n  no    ?  help
`
	if got := prompted(t, other, why, "n\n"); !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	why.Offer = []string{"Shell(docker ps)", "Shell(docker ps:*)"}
	if got, want := prompted(t, other, why, "n\n"), "  Shell(docker ps:*) (wider than p and u: also allows docker ps --all --no-trunc)\n"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwithout\n%s", got, want)
	}
	if got := prompted(t, other, tool.Decision{}, "x\nn\n"); !strings.HasSuffix(got, "  y  yes, once\n  n  no    ?  help\nAllow? [y/n] Type y or n (? for help).\nAllow? [y/n] ") {
		t.Errorf("got %q", got)
	}
}

// A prompt about a page used to name it twice: in the description and in the text below it.
func TestPermissionPromptNamesAPageOnce(t *testing.T) {
	for text, want := range map[tool.Literal]string{
		"Fetch https://one.example/":                               "WebFetch  fetch https://one.example/",
		"Fetch https://one.example/\n\nto find out: the price":     "WebFetch  fetch https://one.example/\n  to find out: the price",
		"Fetch https://ONE.example/":                               "WebFetch  fetch https://one.example/\n  Fetch https://ONE.example/",
		"Fetch https://one.example/ a\n(http where https doesn't)": "WebFetch  fetch https://one.example/\n  Fetch https://one.example/ a\n  (http where https doesn't)",
	} {
		r := tool.Request{
			Declaration: tool.Declaration{Name: "web_fetch", DisplayName: "WebFetch"},
			Invocation:  tool.Invocation{Description: "fetch https://one.example/", Confirm: text},
		}
		if got := Drawn(approval.Rules{}.Question(r, tool.Decision{Verdict: tool.Ask}), nil, cell.Line.String); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
}

// Enter alone and an unknown key explain the choices; "?" explains each of them.
func TestPermissionPromptHelps(t *testing.T) {
	s := sit(t, "\nx\np\n?\nn\n", "")
	if got := statuses(s.write(t, "a")); got != "denied" {
		t.Errorf("got %s", got)
	}
	screen := s.screen.String()
	if n := strings.Count(screen, "Type y, s, e or n (? for help).\n"); n != 3 || !strings.Contains(screen, "  n  deny this call; type n and a reason") {
		t.Errorf("%d hints; screen:\n%s", n, screen)
	}
}
