package cli

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
	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// sitting is a person at a terminal who types what they are told, and a session in a folder of its own.
type sitting struct {
	dir    string
	screen bytes.Buffer
	exec   *tool.Executor
}

func sit(t *testing.T, typed, editor string) *sitting {
	t.Helper()
	s := &sitting{dir: session.Canonical(t.TempDir())}
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
	env := Env{Stdin: stdin, Stderr: &s.screen, Getenv: func(name string) string {
		return map[string]string{"EDITOR": editor}[name]
	}}
	s.exec = &tool.Executor{Registry: tool.NewRegistry(tools.Tools()...), Policy: policy.Judge, Ask: terminalOf(env, policy).ask, AskInTurn: true}
	return s
}

func terminalOf(env Env, p *permission.Policy) *terminal { return newTerminal(env, newScreen(env), p) }

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
		{"a\n", "a b c", "success success success"},
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
	for _, want := range []string{"WriteFile: write a", "+text", "[y]es, [n]o (or n REASON), [e]dit it first, [a]lways (Edit(/**)"} {
		if !strings.Contains(s.screen.String(), want) {
			t.Errorf("the screen lacks %q:\n%s", want, s.screen.String())
		}
	}
}

// A line is shown to the byte, and beside it what the policy read: quoting and nesting hide nothing.
func TestTerminalShowsWhatItUnderstood(t *testing.T) {
	for line, want := range map[string]string{
		`make all`: "",
		`cd src && r\m -rf "a b" > log; env X=1 sh -c 'touch c'`: `Understood as:
  cd src
  rm -rf 'a b' > log
  env X=1 sh -c 'touch c'
  sh -c 'touch c' (run by env)
  touch c (run by sh)
`,
		"find . -name '*.o' | xargs rm": "Understood as:\n  find . -name '*.o'\n  xargs rm\n  rm … (run by xargs)\n",
		"echo $(rm x)\u202E":            "Understood as:\n  rm x\n  echo $(rm x)\\u202E\n",
	} {
		s := sit(t, "n\n", "")
		args, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		b := s.exec.Batch(t.Context())
		b.Add(tool.Call{Name: "run_shell_command", Args: args})
		b.Wait()
		_, shown, _ := strings.Cut(s.screen.String(), "Understood as:\n")
		shown, _, _ = strings.Cut(shown, "[y]es")
		if shown != strings.TrimPrefix(want, "Understood as:\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", line, s.screen.String(), want)
		}
	}
}

// What the person saves in the editor is what is written, and the model is told.
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
	term := terminalOf(Env{Stdin: r, Stderr: &bytes.Buffer{}, Getenv: func(string) string { return "" }}, nil)
	cancel()
	if _, err := term.ask(ctx, tool.Request{}, tool.Decision{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// "Always" to one page used to open every host until adze ended.
func TestTerminalAlwaysIsForOneHost(t *testing.T) {
	for want, c := range map[string]struct {
		access tool.Access
		offer  []string
	}{
		"WebFetch(domain:one.example)": {tool.Access{Verb: tool.Reaches, Target: "one.example"}, []string{"WebFetch(domain:one.example)", "WebFetch"}},
		"WriteFile":                    {tool.Access{Verb: tool.Writes, Target: "/a"}, []string{"Edit(/a)", "WriteFile"}},
		"":                             {tool.Access{Verb: tool.Reaches, Target: "one.example"}, nil},
	} {
		r := tool.Request{Invocation: tool.Invocation{Access: []tool.Access{c.access}}}
		if got := alwaysRule(r, tool.Decision{Verdict: tool.Ask, Offer: c.offer}); got != want {
			t.Errorf("%v: always is %q, want %q", c.offer, got, want)
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
		message := "write a: denied by the user"
		if want != "" {
			message += ": " + want
		}
		if o.Status != tool.StatusDenied || o.Result.Text() != message {
			t.Errorf("%q: %s %q, want %q", typed, o.Status, o.Result.Text(), message)
		}
	}
	for _, typed := range []string{"nope", "not now", "n't", "none", "", "because"} {
		if _, ok := isNo(typed); ok {
			t.Errorf("%q is taken for a no", typed)
		}
	}
}
