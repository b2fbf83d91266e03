package headless

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/tool"
)

// A program gets the effects of a tried call, and can keep all, some or none of them.
func TestEffects(t *testing.T) {
	f := tool.Effects{
		Command: tool.Command{Line: "make\nmake test", Purpose: "check"},
		Ending:  "exit 0", Took: 2 * time.Second, Output: "ok", Network: []string{"registry.example"}, Warnings: []string{"careful"},
		Changes: []tool.Effect{{Path: "a.ts", Kind: tool.EffectChanged, Files: 1, Counted: true, Added: 2, Removed: 1, Diff: "+a\n"}},
	}
	about := func(d tool.Display) *approval.Question {
		return approval.Rules{}.Question(tool.Request{Invocation: tool.Invocation{Description: "run x", Confirm: d}}, tool.Decision{})
	}
	q := question(about(f))
	got, err := json.Marshal(q.Effects)
	want := `{"command":"make\nmake test","description":"check","canRunAgain":true,"ending":"exit 0","ms":2000,"output":"ok","changes":[{"path":"a.ts","kind":"changed","files":1,"added":2,"removed":1,"diff":"+a\n"}],` +
		`"network":["registry.example"],"warnings":["careful"]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if q := question(about(tool.Command{Line: "x"})); q.Effects != nil {
		t.Errorf("effects of a command: %+v", q.Effects)
	}
	for raw, want := range map[string]tool.Decision{
		`{"behavior":"allow"}`:                 {Verdict: tool.Allow},
		`{"behavior":"allow","keep":["a.ts"]}`: {Verdict: tool.Allow, Answer: json.RawMessage(`{"keep":["a.ts"]}`)},
		`{"behavior":"allow","keep":[]}`:       {Verdict: tool.Allow, Answer: json.RawMessage(`{"keep":[]}`)},
		`{"behavior":"allow","runAgain":true}`: {Verdict: tool.Allow, Direct: true},
	} {
		var p permission
		if err := json.Unmarshal([]byte(raw), &p); err != nil {
			t.Fatal(err)
		}
		if d := p.approval(about(f)); d.Verdict != want.Verdict || d.Direct != want.Direct || string(d.Answer) != string(want.Answer) {
			t.Errorf("%s: %+v", raw, d)
		}
	}
}
