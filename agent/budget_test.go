package agent_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
)

func TestCallLimit(t *testing.T) {
	two := says(call("", "look", `{"name":"x"}`), call("", "look", `{"name":"y"}`), callsEnd)
	t.Run("in the middle of an answer", func(t *testing.T) {
		var b bench
		_, m, _, err := run(t, &b, agent.Options{Budget: &agent.Budget{Calls: 3}}, two, two, stop("done"))
		if !errors.Is(err, agent.ErrCallLimit) || err.Error() != "stopped after 3 tool calls, including subagents: tool call limit reached" || len(m.requests) != 2 {
			t.Errorf("%v after %d requests", err, len(m.requests))
		}
		if n := len(b.ran); n != 3 {
			t.Errorf("%d calls ran", n)
		}
	})
	t.Run("calls that are enough", func(t *testing.T) {
		var b bench
		if _, _, _, err := run(t, &b, agent.Options{Budget: &agent.Budget{Calls: 4}}, two, two, stop("done")); err != nil {
			t.Error(err)
		}
	})
}

// A subagent that may make no more calls ends the first agent too.
func TestCallLimitOfAll(t *testing.T) {
	look := says(call("", "look", `{"name":"x"}`), callsEnd)
	f := newOffice(t, agent.CrewOptions{Budget: &agent.Budget{Calls: 2}}, turns{
		"go": {gives(`{"prompt":"loop"}`), stop("done")}, "loop": {look},
	})
	_, _, err := f.run(t)
	if !errors.Is(err, agent.ErrCallLimit) {
		t.Errorf("ended with %v", err)
	}
	if n := len(f.model.requests); n != 3 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestTokenLimit(t *testing.T) {
	look := says(call("", "look", `{"name":"x"}`), model.Usage{Input: 60, Output: 40}, callsEnd)
	var b bench
	budget := &agent.Budget{Tokens: 200}
	_, m, _, err := run(t, &b, agent.Options{Budget: budget}, look, look, look)
	if !errors.Is(err, agent.ErrTokenLimit) || err.Error() != "used 200 of 200 tokens, including subagents: token limit reached" || len(m.requests) != 2 {
		t.Errorf("%v after %d requests", err, len(m.requests))
	}
	// Other users of the same model count too.
	budget = &agent.Budget{Tokens: 200}
	if err := budget.Spend(model.Usage{Input: 150}); err != nil || budget.Left() != nil {
		t.Error(err, budget.Left())
	}
	if err := budget.Spend(model.Usage{Output: 60}); !errors.Is(err, agent.ErrTokenLimit) || budget.Left() == nil {
		t.Error(err, budget.Left())
	}
	if err := (*agent.Budget)(nil).Spend(model.Usage{Input: 1}); err != nil || (*agent.Budget)(nil).Left() != nil {
		t.Error(err)
	}
}

// The first successful call of the final tool ends a run, and calls after it aren't executed. It doesn't count as a call.
func TestFinalCall(t *testing.T) {
	var b bench
	_, m, answer, err := run(t, &b, agent.Options{Final: "look", Budget: &agent.Budget{Calls: 2}},
		says(model.Text("a"), call("", "look", `{"nme":"x"}`), callsEnd),
		says(model.Text("b"), call("", "change", `{"name":"a"}`), call("", "look", `{"name":"x"}`), call("", "change", `{"name":"b"}`), call("", "look", `{"name":"y"}`), callsEnd),
		stop("never"))
	slices.Sort(b.ran)
	if err != nil || len(m.requests) != 2 || answer.Text != "b" || !slices.Equal(b.ran, []string{"change a", "look x"}) {
		t.Errorf("%v after %d requests, %q, ran %q", err, len(m.requests), answer.Text, b.ran)
	}
}

// The limit applies even if a server reports no usage.
func TestTokenLimitWithoutUsage(t *testing.T) {
	look := says(model.Text(strings.Repeat("word ", 400)), call("", "look", `{"name":"x"}`), callsEnd)
	var b bench
	budget := &agent.Budget{Tokens: 1000}
	_, m, answer, err := run(t, &b, agent.Options{Budget: budget}, look)
	if !errors.Is(err, agent.ErrTokenLimit) || len(m.requests) < 2 || len(m.requests) > 3 || answer.Usage.Total() != 0 {
		t.Errorf("%v after %d requests, %+v", err, len(m.requests), answer.Usage)
	}
}
