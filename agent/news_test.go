package agent_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// The model gets news once, before its next turn.
func TestNewsBeforeATurn(t *testing.T) {
	m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{stop("fine")}}
	news := []string{"Job 1 has ended."}
	a := agent.New(agent.Options{Model: m, Executor: &tool.Executor{Registry: tool.NewRegistry()}, News: func(context.Context) []string {
		said := news
		news = nil
		return said
	}})
	for _, prompt := range []string{"hello", "again"} {
		if _, err := a.Run(t.Context(), model.Text(prompt)); err != nil {
			t.Fatal(err)
		}
	}
	var said []string
	for _, msg := range a.History() {
		said = append(said, msg.Text())
	}
	if diff := cmp.Diff([]string{"hello", "Job 1 has ended.", "fine", "again", "fine"}, said); diff != "" {
		t.Error(diff)
	}
}

// Prompts that the user enters while the model works are sent before its next turn.
func TestTypedBeforeATurn(t *testing.T) {
	m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{stop("fine")}}
	typed := [][]model.Part{{model.Text("also this")}, {model.Text("and that")}}
	var prompts []string
	a := agent.New(agent.Options{Model: m, Executor: &tool.Executor{Registry: tool.NewRegistry()}, Typed: func(context.Context) [][]model.Part {
		taken := typed
		typed = nil
		return taken
	}, Observe: func(e agent.Event) {
		if told, ok := e.(agent.Told); ok && !told.News {
			prompts = append(prompts, told.Message.Text())
		}
	}})
	if _, err := a.Run(t.Context(), model.Text("hello")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"hello", "also this", "and that"}, prompts); diff != "" {
		t.Error(diff)
	}
}
