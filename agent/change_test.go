package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
)

// named is a model with a given name.
type named struct {
	model.Model
	name string
}

func (n named) Name() string { return n.name }

// The conversation continues with another model, from the next request on.
func TestSetModel(t *testing.T) {
	var b bench
	a, _, _, err := run(t, &b, agent.Options{}, says(model.Text("one"), model.End{Reason: model.Stop}))
	if err != nil {
		t.Fatal(err)
	}
	other := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{says(model.Text("two"), model.End{Reason: model.Stop})}}
	a.SetModel(named{other, "other"})
	a.SetEffort("high")
	if answer, err := a.Run(t.Context(), model.Text("again")); err != nil || answer.Text != "two" {
		t.Errorf("%+v, %v", answer, err)
	}
	if r := other.requests[0]; r.Effort != "high" || len(r.Messages) != 3 || r.Messages[1].Text() != "one" {
		t.Errorf("%+v", r)
	}
}

// After a Reset the model knows only the new history. A server that uses an ID again has its call executed, and steps
// still go to the observer.
func TestReset(t *testing.T) {
	var b bench
	steps := 0
	observe := func(e agent.Event) {
		if _, ok := e.(agent.Step); ok {
			steps++
		}
	}
	again := says(call("call_0", "look", `{"name":"x"}`), callsEnd)
	done := says(model.Text("done"), model.End{Reason: model.Stop})
	a, m, _, err := run(t, &b, agent.Options{System: "Old.", Observe: observe}, again, done, again, done)
	if err != nil {
		t.Fatal(err)
	}
	before := steps
	a.Reset("New.", []model.Message{model.Prompt("remember this")})
	if _, err := a.Run(context.Background(), model.Text("go on")); err != nil {
		t.Fatal(err)
	}
	got := show(a.History())
	if !strings.HasPrefix(got, "user: remember this\nuser: go on\n") || !strings.Contains(got, "gives: saw x") || strings.Contains(got, "already used") {
		t.Error(got)
	}
	if r := m.requests[2]; r.System != "New." || len(r.Messages) != 2 {
		t.Errorf("%+v", r)
	}
	if steps != 2*before {
		t.Errorf("%d steps, then %d", before, steps-before)
	}
}

// Append adds to the conversation without a request.
func TestAppend(t *testing.T) {
	var b bench
	a, m, _, err := run(t, &b, agent.Options{}, says(model.Text("one"), model.End{Reason: model.Stop}), says(model.Text("two"), model.End{Reason: model.Stop}))
	if err != nil {
		t.Fatal(err)
	}
	a.Append(model.Prompt("by the way"))
	if _, err := a.Run(t.Context(), model.Text("again")); err != nil || len(m.requests) != 2 || m.requests[1].Messages[2].Text() != "by the way" {
		t.Errorf("%v, %+v", err, m.requests)
	}
}
