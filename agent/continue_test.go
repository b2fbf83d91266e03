package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Told, Answered and Responded together report the history: prompts, news, requests to continue, answers as they are sent.
func TestEventsReportTheHistory(t *testing.T) {
	var reported []model.Message
	news := []string{"Job 1 has ended."}
	a, _, _, err := run(t, &bench{}, agent.Options{
		News: func(context.Context) []string {
			said := news
			news = nil
			return said
		},
		Observe: func(e agent.Event) {
			switch e := e.(type) {
			case agent.Told:
				reported = append(reported, e.Message)
			case agent.Answered:
				if len(e.Sent.Parts) > 0 {
					reported = append(reported, e.Sent)
				}
			case agent.Responded:
				reported = append(reported, e.Message)
			}
		},
	},
		says(model.Text("first"), call("1", "look", `{"name":"a",}`), callsEnd),
		says(model.Thought("hm"), model.End{Reason: model.Stop}),
		breaks(model.Text("half")),
		stop("done"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(show(a.History()), show(reported)); diff != "" {
		t.Error(diff)
	}
	if len(reported) != 7 {
		t.Errorf("%d messages:\n%s", len(reported), show(reported))
	}
}

// Requests of a continued conversation begin with the same bytes: the same system prompt and the same declarations in the
// same order, including tools that were found meanwhile.
func TestContinuedRequestsBeginTheSame(t *testing.T) {
	catalog := &agent.Catalog{Most: 10, Finder: "find"}
	registry := library(catalog)
	if err := registry.Set("mcp:hub", outers("mcp:hub", "hub__a", "hub__b", "hub__z")); err != nil {
		t.Fatal(err)
	}
	first := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{
		says(call("1", "find", `{"name":"hub__z"}`), callsEnd), says(call("2", "find", `{"name":"hub__a"}`), callsEnd), stop("done"),
	}}
	var last agent.Declared
	times := 0
	a := agent.New(agent.Options{Model: first, Executor: &tool.Executor{Registry: registry, Policy: allowed}, System: "Be kind.", Catalog: catalog,
		Observe: func(e agent.Event) {
			if d, ok := e.(agent.Declared); ok {
				last = d
				times++
			}
		}})
	if _, err := a.Run(t.Context(), model.Text("go")); err != nil {
		t.Fatal(err)
	}
	if times != 3 {
		t.Errorf("declared %d times", times)
	}

	again := &agent.Catalog{Most: 10, Finder: "find"}
	other := library(again)
	if err := other.Set("mcp:hub", outers("mcp:hub", "hub__0", "hub__a", "hub__b", "hub__z")); err != nil {
		t.Fatal(err)
	}
	second := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{stop("done")}}
	told := 0
	b := agent.New(agent.Options{Model: second, Executor: &tool.Executor{Registry: other, Policy: allowed}, System: last.System, Catalog: again,
		History: a.History(), Declared: &last, Observe: func(e agent.Event) {
			switch e.(type) {
			case agent.Declared:
				t.Error("declared again")
			case agent.Told:
				told++
			}
		}})
	if _, err := b.Run(t.Context(), model.Text("more")); err != nil {
		t.Fatal(err)
	}
	before, now := first.requests[2], second.requests[0]
	if diff := cmp.Diff(before.System, now.System); diff != "" {
		t.Error(diff)
	}
	if declared(before) != "find look hub__z hub__a" || declared(now) != declared(before) {
		t.Errorf("declared before: %s, now: %s", declared(before), declared(now))
	}
	if diff := cmp.Diff(show(before.Messages), show(now.Messages[:len(before.Messages)])); diff != "" {
		t.Error(diff)
	}
	if told != 2 { // the prompt, and one new name
		t.Errorf("told %d messages:\n%s", told, show(now.Messages))
	}
}

// A conversation that was interrupted before an answer continues without a prompt.
func TestContinueWithoutPrompt(t *testing.T) {
	m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{stop("done")}}
	response := model.Message{Role: model.Tool, Parts: []model.Part{model.Response{ID: "1", Name: "look", Content: []tool.Part{tool.Text("saw a")}}}}
	asked := model.Message{Role: model.Assistant, Parts: []model.Part{call("1", "look", `{"name":"a"}`)}}
	a := agent.New(agent.Options{Model: m, Executor: (&bench{}).executor(), History: []model.Message{model.Prompt("go"), asked, response}})
	answer, err := a.Continue(t.Context())
	if err != nil || answer.Text != "done" || len(a.History()) != 4 {
		t.Errorf("%+v, %v, %d messages", answer, err, len(a.History()))
	}
	if _, err := a.Continue(t.Context()); !errors.Is(err, agent.ErrNothingToContinue) {
		t.Errorf("after a complete answer: %v", err)
	}
	if n := len(m.requests); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// An interrupted answer is continued, unless a prompt follows it.
func TestContinueInterruptedAnswer(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{
		func(ctx context.Context, say func(...model.Event)) error {
			say(model.Text("the first half"))
			interrupt()
			return ctx.Err()
		},
		stop(" and the second"),
	}}
	a := agent.New(agent.Options{Model: m, Executor: (&bench{}).executor()})
	if _, err := a.Run(ctx, model.Text("go")); !errors.Is(err, context.Canceled) || !a.Unanswered() {
		t.Fatalf("interrupted: %v, unanswered %v", err, a.Unanswered())
	}
	answer, err := a.Continue(t.Context())
	if err != nil || !strings.Contains(answer.Text, "and the second") || a.Unanswered() {
		t.Errorf("%+v, %v", answer, err)
	}
	if h := a.History(); len(h) != 4 || h[2].Role != model.User {
		t.Errorf("history: %+v", h)
	}
}

// Subagents of a continued session get new names.
func TestNamesOfEarlierSubagents(t *testing.T) {
	paths := []string{}
	f := newOffice(t, agent.CrewOptions{
		Taken:   []string{"", "explore-7", "explore-2", "general-purpose-1/explore-9", "odd", "explore-x"},
		Observe: func(m agent.Member, _ agent.Event) { paths = append(paths, m.Path) },
	}, turns{
		"go":          {gives(`{"prompt":"look around","type":"explore"}`), stop("done")},
		"look around": {stop("seen")},
	})
	if _, _, err := f.run(t); err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 || paths[0] != "explore-8" {
		t.Errorf("paths: %v", paths)
	}
}
