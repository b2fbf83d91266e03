package approval

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/adze-dev/adze/tool"
)

func TestNumbers(t *testing.T) {
	for typed, want := range map[string][]bool{"1": {true, false, false}, "1,3": {true, false, true}, "2-3": {false, true, true}, "2 3": {false, true, true}} {
		if got, err := numbers(typed, 3); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", typed, got, err)
		}
	}
	for _, typed := range []string{"", "0", "6", "x", "3-2", "1-", "-1", "2-9"} {
		if got, err := numbers(typed, 3); err == nil {
			t.Errorf("%q: %v", typed, got)
		}
	}
}

func tried() *Question {
	f := tool.Effects{Network: []string{"a.dev"}, Changes: []tool.Effect{{Path: "a"}, {Path: "b"}, {Path: "dist/"}}}
	return Rules{}.Question(tool.Request{Invocation: tool.Invocation{Confirm: f}}, tool.Decision{Offer: []string{"Edit(/a)", "Edit"}})
}

func TestDiscard(t *testing.T) {
	for typed, want := range map[string]string{"d": "", "D": "", "discard": "", "d use make fmt": "use make fmt", "d: no": "no", "n": "", "no, later": "later"} {
		if c, reason, ok := tried().Typed(Lines, typed); !ok || c.Act != Deny || reason != want {
			t.Errorf("%q: %+v, %q, %v", typed, c, reason, ok)
		}
	}
	for _, typed := range []string{"", "do it", "not", "e", "p", "y please", "1"} {
		if c, _, ok := tried().Typed(Lines, typed); ok {
			t.Errorf("%q is %+v", typed, c)
		}
	}
}

// Every choice that a question offers leads to one decision.
func TestDecide(t *testing.T) {
	edit := tool.Request{Invocation: tool.Invocation{
		Confirm: tool.Command{Line: "make"}, Rework: func(texts ...*string) json.RawMessage { return json.RawMessage(`"` + *texts[0] + `"`) },
	}}
	saved := map[Scope]string{}
	rules := Rules{Save: func(s Scope, offer string) (string, error) {
		if s == ForUser {
			return "", errors.New("read-only")
		}
		saved[s] = offer
		return "settings.json", nil
	}}
	command := rules.Question(edit, tool.Decision{Offer: []string{"Shell(make)"}})
	for _, tt := range []struct {
		q      *Question
		answer Answer
		want   tool.Decision
	}{
		{command, Answer{Act: Once}, tool.Decision{Verdict: tool.Allow}},
		{command, Answer{Act: Deny, Text: "no"}, tool.Decision{Reason: "no"}},
		{command, Answer{Act: Edit, Text: "make x"}, tool.Decision{Verdict: tool.Allow, Args: []byte(`"make x"`)}},
		{command, Answer{Act: Always, Rule: "Shell(make)", Scope: ForProject}, tool.Decision{Verdict: tool.Allow, Remember: "Shell(make)"}},
		{command, Answer{Act: Rerun}, tool.Decision{Verdict: tool.Allow}}, // nothing was tried
		{command, Answer{Act: Once, Form: map[string]any{"a": 1}}, tool.Decision{Verdict: tool.Allow, Answer: []byte(`{"a":1}`)}},
		{tried(), Answer{Act: Rerun}, tool.Decision{Verdict: tool.Allow, Direct: true}},
		{tried(), Answer{Act: Parts, Take: []bool{true, false, true}}, tool.Decision{Verdict: tool.Allow, Answer: []byte(`{"keep":["a","dist/"]}`)}},
	} {
		got, err := tt.q.Decide(tt.answer)
		if err != nil || got.Verdict != tt.want.Verdict || got.Reason != tt.want.Reason || got.Remember != tt.want.Remember || got.Direct != tt.want.Direct ||
			string(got.Args) != string(tt.want.Args) || string(got.Answer) != string(tt.want.Answer) {
			t.Errorf("%+v: %+v, %v", tt.answer, got, err)
		}
	}
	if len(saved) != 1 || saved[ForProject] != "Shell(make)" {
		t.Errorf("saved: %v", saved)
	}
	for _, a := range []Answer{{Act: Always, Rule: "Shell(make)", Scope: ForUser}, {Act: View}, {Act: Explain}} {
		if d, err := command.Decide(a); err == nil {
			t.Errorf("%+v: %+v", a, d)
		}
	}
	if _, err := tried().Decide(Answer{Act: Edit, Text: "x"}); err == nil {
		t.Error("a tried call was edited")
	}
}
