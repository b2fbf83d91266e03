package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

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
	term := &terminal{save: func(session.Scope, string) (string, error) { return "", nil }}
	c := term.choices(r, why)
	got := question(r, why, nil, false) + "\n" + c.list() + c.prompt()
	want := `Shell  npm run format
  finished in 2.1 s, exit 0; nothing is kept yet
    changed   src/a.ts  +1 −1
    new       dist/  412 files, ignored by git
    denied    network: registry.example
--- src/a.ts
+++ src/a.ts
@@ -1 +1 @@
-a
+b
  Needs approval: writes /w/dist/ (mode: default)
  Warning: it opened .env
  y  keep
  f  choose files
  s  keep, for this session         Edit(/dist/**)
  p  keep, always in this project   saves to .adze/settings.json
  u  keep, always, all projects     saves to ~/.adze/settings.json
  d  discard    r  run with network    ?  help
Keep? [y/f/s/p/u/d/r] `
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := c.hint(), "Type y, f, s, p, u, d or r (? for help)."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnswersToEffects(t *testing.T) {
	for typed, want := range map[string]tool.Decision{
		"y\n":            {Verdict: tool.Allow},
		"d\n":            {Verdict: tool.Deny},
		"d use prettier": {Verdict: tool.Deny, Reason: "use prettier"},
		"n no thanks":    {Verdict: tool.Deny, Reason: "no thanks"},
		"r\n":            {Verdict: tool.Allow, Direct: true},
		"f\n2\n":         {Verdict: tool.Allow, Answer: []byte(`{"keep":["src/a.ts"]}`)},
		"f\n9\nf\n1-2\n": {Verdict: tool.Allow, Answer: []byte(`{"keep":["dist/","src/a.ts"]}`)},
		"e\nx\n?\ny\n":   {Verdict: tool.Allow},
	} {
		r, why := triedRequest()
		var screen strings.Builder
		env := Env{Stdin: strings.NewReader(typed + "\n"), Stderr: &screen, Getenv: func(string) string { return "" }}
		got, err := terminalOf(env, permission.New(permission.World{}, permission.Default)).ask(t.Context(), r, why)
		if err != nil || got.Verdict != want.Verdict || got.Reason != want.Reason || got.Direct != want.Direct || string(got.Answer) != string(want.Answer) {
			t.Errorf("%q: %+v, %v\n%s", typed, got, err, screen.String())
		}
	}
	// Nothing changed: an approval runs it.
	r, why := triedRequest()
	f := r.Confirm.(tool.Effects)
	f.Changes = nil
	r.Confirm = f
	if c := (&terminal{}).choices(r, why); c.effects || c.prompt() != "Allow? [y/s/n] " {
		t.Errorf("%+v", c)
	}
}
