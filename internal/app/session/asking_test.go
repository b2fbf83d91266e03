package session

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// For every denial in every mode, the model's text names no flag, and the user's never --yolo. If a rule would allow the
// call, the user's text names the narrowest one, before any flag.
func TestDenialsOfEveryMode(t *testing.T) {
	accesses := map[string]tool.Access{
		"read": {Verb: tool.Reads, Target: "/srv/x"}, "secret": {Verb: tool.Reads, Target: "/app/.env"},
		"write": {Verb: tool.Writes, Target: "/app/a"}, "protected": {Verb: tool.Writes, Target: "/app/.mcp.json"},
		"command": {Verb: tool.Execs, Target: "make test"}, "host": {Verb: tool.Reaches, Target: "example.com"},
		"unknown": tool.Anything, "nothing": tool.Nothing,
	}
	rules := map[string][2][]string{"none": {}, "ask": {{"Do"}, nil}, "deny": {nil, {"Do"}}}
	denied := 0
	for _, mode := range permission.Modes() {
		for list, r := range rules {
			for what, access := range accesses {
				for _, must := range []bool{false, true} {
					at := fmt.Sprintf("%s mode, %s, rules: %s, must ask: %v", mode, what, list, must)
					o := denialOf(t, mode, r, access, must)
					if o.Status != tool.StatusDenied {
						continue
					}
					denied++
					if text := o.Result.Text(); strings.Contains(text, "--") {
						t.Errorf("%s: for the model: %s", at, text)
					}
					if strings.Contains(o.Error.Message, "--yolo") || strings.Contains(o.Error.Message, "--approval-mode yolo") {
						t.Errorf("%s: for the user: %s", at, o.Error.Message)
					}
				}
			}
		}
	}
	if denied < 50 {
		t.Errorf("only %d calls were denied", denied)
	}
	o := denialOf(t, permission.Default, rules["none"], accesses["write"], false)
	if want := "permission denied: do it\nWrites /app/a (mode: default). This session is non-interactive.\n" +
		`To allow it, add to permissions.allow: "Edit(/a)", or run with --approval-mode auto-edit`; o.Error.Message != want {
		t.Errorf("got  %s\nwant %s", o.Error.Message, want)
	}
}

// denialOf returns the outcome of a call in a non-interactive session.
func denialOf(t *testing.T, mode permission.Mode, rules [2][]string, access tool.Access, must bool) tool.Outcome {
	t.Helper()
	parsed, _, err := permission.ParseRules(nil, rules[0], rules[1])
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{Policy: permission.New(permission.World{Roots: []string{"/app"}, Home: "/home/me"}, mode)}
	s.Policy.SetRules(parsed)
	do := tool.Define(tool.Def[struct{}]{
		Name: "do", DisplayName: "Do", Description: "Does it.", Kind: tool.Execute,
		Prepare: func(context.Context, struct{}) (*tool.Invocation, error) {
			return &tool.Invocation{Description: "do it", Access: []tool.Access{access}, MustAsk: must,
				Run: func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult("done"), nil }}, nil
		},
	})
	x := &tool.Executor{Registry: tool.NewRegistry(do), Policy: s.Policy.Judge, Ask: s.denyAll}
	b := x.Batch(t.Context())
	b.Add(tool.Call{Name: "do", Args: []byte("{}")})
	return b.Wait()[0]
}
