package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/builtin/todo"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// However an answer is cut into pieces, it is printed as a whole would be: without blank lines around it, and a line is
// ended as soon as that is known.
func TestWordsInPieces(t *testing.T) {
	whole := "\n \nOne line.\n\n  Two lines,\n\tthree.  \n\n\n"
	for size := 1; size <= len(whole); size++ {
		var w words
		var got strings.Builder
		for rest := whole; rest != ""; {
			n := min(size, len(rest))
			got.WriteString(w.next(rest[:n]))
			rest = rest[n:]
		}
		if want := "One line.\n\n  Two lines,\n\tthree.\n"; got.String() != want {
			t.Errorf("pieces of %d: got %q, want %q", size, got.String(), want)
		}
	}
}

func TestChecklist(t *testing.T) {
	list := todo.List{{ID: "1", Content: "Look", Status: "completed"}, {ID: "2", Content: "Change\n- [x] it", Status: "in_progress"}, {ID: "3", Content: "Check", Status: "pending"}}
	if got, want := Checklist(list, "  "), "  [x] Look\n  [-] Change - [x] it\n  [ ] Check"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Checklist(nil, "  "); got != "  The list is empty." {
		t.Errorf("got %q", got)
	}
}

// A long list begins with what is to be done.
func TestLongChecklist(t *testing.T) {
	var list todo.List
	for i := range 100 {
		status := "completed"
		if i >= 40 {
			status = "pending"
		}
		list = append(list, todo.Item{ID: fmt.Sprint(i), Content: fmt.Sprintf("step %d %s", i, strings.Repeat("x", 300)), Status: status})
	}
	lines := strings.Split(Checklist(list, ""), "\n")
	if len(lines) != maxSteps+1 || lines[0] != "[x] (40 of 100 steps done)" || !strings.HasPrefix(lines[1], "[ ] step 40 xxx") || len(lines[1]) > 110 || lines[maxSteps] != "… and 41 more" {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// runs is a command that has printed some lines.
func runs(id, command string, ago time.Duration, output ...string) func(*live) {
	return func(l *live) {
		r := tool.Request{
			Call: tool.Call{ID: id}, Declaration: tool.Declaration{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute},
			Invocation: tool.Invocation{Description: "run " + command},
		}
		l.calls.Step(tool.Event{Stage: tool.Running, Request: r}, began.Add(-ago), 80)
		l.calls.Step(tool.Event{Stage: tool.Showing, Request: r, Display: tool.Literal(strings.Join(output, "\n"))}, began, 80)
	}
}

func TestLiveLines(t *testing.T) {
	thinks := func(ago time.Duration) func(*live) { return func(l *live) { l.thinking = began.Add(-ago) } }
	var many []func(*live)
	for i := range 20 {
		many = append(many, runs(fmt.Sprint(i), fmt.Sprint("job ", i), 0))
	}
	for name, c := range map[string]struct {
		state         []func(*live)
		columns, rows int
		want          string
	}{
		"nothing":               {nil, 80, 24, ""},
		"the model thinks":      {[]func(*live){thinks(125 * time.Second)}, 80, 24, "∙ waiting for the model 2 min 5 s"},
		"a call, not the model": {[]func(*live){thinks(time.Second), runs("1", "make", 18*time.Second)}, 31, 24, "◐ Shell make              18 s"},
		"nothing acts":          {[]func(*live){runs("1", "make", 0, "1", "a\x1b[2Jb\rc")}, 31, 24, "◐ Shell make               0 s\n    1\n    a�[2Jb�c"},
		"narrow":                {[]func(*live){runs("1", "世界世界 everything", 0, "a line that is too long")}, 21, 24, "◐ Shell 世界世…  0 s\n    a line that is …"},
		"low":                   {[]func(*live){runs("1", "make", 0, "a", "b", "c")}, 21, 3, "◐ Shell make     0 s\n  … 3 more"},
		"too many":              {many, 21, 4, "◐ Shell job 0    0 s\n◐ Shell job 1    0 s\n  … 18 more"},
		"no rows":               {many, 21, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var l live
			for _, change := range c.state {
				change(&l)
			}
			var got []string
			for _, line := range l.lines(began, c.columns, c.rows) {
				got = append(got, line.String())
				if n := line.Width(); n >= c.columns {
					t.Errorf("%q has %d cells and would wrap", line, n)
				}
			}
			if text := strings.Join(got, "\n"); text != c.want {
				t.Errorf("got\n%s\nwant\n%s", text, c.want)
			}
		})
	}
}

func triedRequest() (tool.Request, tool.Decision) {
	r := tool.Request{
		Declaration: tool.Declaration{Name: "run_shell_command", DisplayName: "Shell"},
		Invocation: tool.Invocation{
			Description: "run npm run format", Access: []tool.Access{{Verb: tool.Writes, Target: "/w/dist/"}},
			Confirm: tool.Effects{
				Command: tool.Command{Line: "npm run format"}, Ending: "exit 0", Took: 2100 * time.Millisecond, Network: []string{"registry.example"},
				Changes: []tool.Effect{
					{Path: "dist/", Kind: tool.EffectNew, Files: 412, Ignored: true},
					{Path: "src/a.ts", Kind: tool.EffectChanged, Counted: true, Added: 1, Removed: 1, Diff: "--- src/a.ts\n+++ src/a.ts\n@@ -1 +1 @@\n-a\n+b\n"},
				},
				Warnings: []string{"it opened .env"},
			},
		},
	}
	return r, tool.Decision{Verdict: tool.Ask, Reason: "writes /w/dist/", Cause: tool.Cause{Kind: tool.ByMode, Mode: "default"}, Offer: []string{"Edit(/dist/**)"}}
}

// The prompt of a tried call shows what it did, and offers to keep it.
func TestPromptOfEffects(t *testing.T) {
	r, why := triedRequest()
	got := prompted(t, r, why, "d\n")
	want := `Shell  npm run format
  finished in 2.1 s, exit 0; nothing is kept yet
    changed   src/a.ts  +1 −1
    new       dist/  412 files, ignored by git
    denied    network: 1 lookup of registry.example
  src/a.ts
   1     │-a
       1 │+b
  Needs approval: writes /w/dist/ (mode: default)
  Warning: it opened .env
  y  keep
  f  choose files
  s  keep, for this session         Edit(/dist/**)
  p  keep, always in this project   saves to .adze/settings.json
  u  keep, always, all projects     saves to ~/.adze/settings.json
  d  discard    r  run again with network    ?  help
Keep? [y/f/s/p/u/d/r] `
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := prompted(t, r, why, "x\nd\n"), "Type y, f, s, p, u, d or r (? for help)."; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnswersToEffects(t *testing.T) {
	for typed, want := range map[string]tool.Decision{
		"y\n":            {Verdict: tool.Allow},
		"d\n":            {Verdict: tool.Deny},
		"d use prettier": {Verdict: tool.Deny, Reason: "use prettier"},
		"n no thanks":    {Verdict: tool.Deny, Reason: "no thanks"},
		"r\ny\n":         {Verdict: tool.Allow, Direct: true},
		"r\nn\nd\n":      {Verdict: tool.Deny},
		"r\n\nd\n":       {Verdict: tool.Deny},
		"f\n2\n":         {Verdict: tool.Allow, Answer: []byte(`{"keep":["src/a.ts"]}`)},
		"f\n9\nf\n1-2\n": {Verdict: tool.Allow, Answer: []byte(`{"keep":["dist/","src/a.ts"]}`)},
		"e\nx\n?\ny\n":   {Verdict: tool.Allow},
	} {
		r, why := triedRequest()
		var screen strings.Builder
		env := Streams{Stdin: strings.NewReader(typed + "\n"), Stderr: &screen, Getenv: func(string) string { return "" }}
		got, err := terminalOf(env, permission.New(permission.World{}, permission.Default)).ask(t.Context(), r, why)
		if err != nil || got.Verdict != want.Verdict || got.Reason != want.Reason || got.Direct != want.Direct || string(got.Answer) != string(want.Answer) {
			t.Errorf("%q: %+v, %v\n%s", typed, got, err, screen.String())
		}
	}
	// A second question shows the whole command, lines as lines; a trial that wasn't denied anything offers no run.
	r, why := triedRequest()
	f := r.Confirm.(tool.Effects)
	f.Command.Line = "cat > gen.py <<'PY'\n  indented\nPY\npython3 gen.py"
	r.Confirm = f
	var screen strings.Builder
	env := Streams{Stdin: strings.NewReader("r\ny\n"), Stderr: &screen, Getenv: func(string) string { return "" }}
	if _, err := terminalOf(env, permission.New(permission.World{}, permission.Default)).ask(t.Context(), r, why); err != nil {
		t.Error(err)
	}
	if _, second, _ := strings.Cut(screen.String(), "network:\n"); !strings.Contains(second, "  cat > gen.py <<'PY'\n    indented\n  PY\n  python3 gen.py\n") {
		t.Error(screen.String())
	}
	f.Network = nil
	r.Confirm = f
	if got := prompted(t, r, why, "d\n"); !strings.HasSuffix(got, "Keep? [y/f/s/p/u/d] ") || strings.Contains(got, "  r  run") {
		t.Error(got)
	}
	// Nothing changed: an approval runs it.
	f.Changes = nil
	r.Confirm = f
	if got := prompted(t, r, why, "n\n"); !strings.HasSuffix(got, "Allow? [y/s/p/u/n] ") {
		t.Error(got)
	}
}
