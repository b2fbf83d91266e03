package approval_test

import (
	"slices"
	"testing"

	"github.com/adze-dev/adze/internal/approval"
	"github.com/adze-dev/adze/tool"
)

func TestNumbers(t *testing.T) {
	for typed, want := range map[string][]int{"1": {1}, "1,3": {1, 3}, "1, 3-5": {1, 3, 4, 5}, "2 3": {2, 3}} {
		if got, err := approval.Numbers(typed, 5); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", typed, got, err)
		}
	}
	for _, typed := range []string{"", "0", "6", "x", "3-2", "1-", "-1", "4-9"} {
		if got, err := approval.Numbers(typed, 5); err == nil {
			t.Errorf("%q: %v", typed, got)
		}
	}
}

func TestDiscard(t *testing.T) {
	for typed, want := range map[string]string{"d": "", "D": "", "discard": "", "d use make fmt": "use make fmt", "d: no": "no"} {
		if reason, ok := approval.IsDiscard(typed); !ok || reason != want {
			t.Errorf("%q: %q, %v", typed, reason, ok)
		}
	}
	for _, typed := range []string{"", "do it", "y", "no"} {
		if _, ok := approval.IsDiscard(typed); ok {
			t.Errorf("%q discards", typed)
		}
	}
}

func TestAnswersAboutEffects(t *testing.T) {
	if d := approval.Keep([]string{"a", "dist/"}); d.Verdict != tool.Allow || string(d.Answer) != `{"keep":["a","dist/"]}` {
		t.Errorf("%+v", d)
	}
	if d := approval.RunAgain(tool.Effects{Changes: make([]tool.Effect, 1)}); d.Verdict != tool.Allow || !d.Direct {
		t.Errorf("%+v", d)
	}
	if d := approval.RunAgain(tool.Effects{}); d.Verdict != tool.Allow || d.Direct {
		t.Errorf("without effects: %+v", d)
	}
}
