package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
	"github.com/adze-dev/adze/tool/schema"
)

// outer is an external tool that echoes its argument.
type outer struct{ name, origin string }

func (o outer) Declaration() tool.Declaration {
	return tool.Declaration{
		Name: o.name, Origin: o.origin, Description: "Does " + o.name + ". " + strings.Repeat("A long text. ", 10),
		Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
	}
}

func (o outer) Prepare(_ context.Context, raw json.RawMessage) (*tool.Invocation, error) {
	schema, err := schema.Parse(o.Declaration().Parameters)
	if err != nil {
		return nil, err
	}
	args, _, err := schema.Arguments(raw)
	if err != nil {
		return nil, err
	}
	return &tool.Invocation{Run: func(context.Context, *tool.Live) (tool.Result, error) {
		return tool.TextResult(o.name + " was given " + string(args)), nil
	}}, nil
}

func outers(origin string, names ...string) []tool.Tool {
	var ts []tool.Tool
	for _, n := range names {
		ts = append(ts, outer{n, origin})
	}
	return ts
}

// library returns a registry with look, find and skill. find reveals the requested tools, and skill is deferred.
func library(catalog *agent.Catalog) *tool.Registry {
	type query struct {
		Name string `json:"name"`
	}
	return tool.NewRegistry(
		tool.Define(tool.Def[struct{}]{Name: "look", Description: "Looks.", Kind: tool.Read, Prepare: nothing[struct{}]}),
		tool.Define(tool.Def[struct{}]{Name: "skill", Description: "No use.", Kind: tool.Read, Deferred: true, Prepare: nothing[struct{}]}),
		tool.Define(tool.Def[query]{Name: "find", Description: "Finds.", Kind: tool.Think, Deferred: true,
			Prepare: func(_ context.Context, q query) (*tool.Invocation, error) {
				return &tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: func(_ context.Context, l *tool.Live) (tool.Result, error) {
					catalog.Reveal(l.Call.By, q.Name)
					return tool.TextResult(fmt.Sprintf("%d tools", len(catalog.Tools(l.Call.By)))), nil
				}}, nil
			}}),
	)
}

func nothing[A any](context.Context, A) (*tool.Invocation, error) {
	return &tool.Invocation{Access: []tool.Access{tool.Nothing}, Run: func(context.Context, *tool.Live) (tool.Result, error) {
		return tool.TextResult("nothing"), nil
	}}, nil
}

func declared(r model.Request) string {
	var names []string
	for _, d := range r.Tools {
		names = append(names, d.Name)
	}
	return strings.Join(names, " ")
}

func allowed(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }

// Tools that would fill the context are listed by name. Tools that were found, or called by name, are declared after all
// others from the next turn on, and stay.
func TestCatalog(t *testing.T) {
	catalog := &agent.Catalog{Most: 100, Finder: "find"}
	registry := library(catalog)
	if err := registry.Set("mcp:a", outers("mcp:a", "a__one", "a__two", "a__three")); err != nil {
		t.Fatal(err)
	}
	m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{
		says(call("1", "find", `{"name":"a__two"}`), callsEnd),
		says(call("2", "a__two", `{"text":"x"}`), callsEnd),
		says(call("3", "a__one", `{"txt":"x"}`), call("4", "a__one", `{"text":"y"}`), callsEnd),
		stop("done"),
	}}
	a := agent.New(agent.Options{Model: m, Executor: &tool.Executor{Registry: registry, Policy: allowed}, System: "You work.", Catalog: catalog})
	if _, err := a.Run(t.Context(), model.Text("go")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range m.requests {
		got = append(got, declared(r))
		if want := "You work.\n\n3 more tools are available. Load them with find before calling them:\n- a__one, a__three, a__two\n"; r.System != want {
			t.Errorf("system: %q", r.System)
		}
	}
	want := []string{"find look", "find look a__two", "find look a__two", "find look a__two a__one"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	responses := m.requests[3].Messages[6].Parts
	if text := answerText(responses[0]); !strings.Contains(text, "text") || !strings.Contains(text, "weren't loaded when you called it") {
		t.Errorf("a wrong call of a tool that was not declared: %q", text)
	}
	if text := answerText(responses[1]); text != `a__one was given {"text":"y"}` {
		t.Errorf("a right one: %q", text)
	}
	if text := answerText(m.requests[1].Messages[2].Parts[0]); text != "3 tools" {
		t.Errorf("the finder found %q", text)
	}
}

func answerText(p model.Part) string {
	return tool.Result{Content: p.(model.Response).Content}.Text()
}

// Tools that are added later are listed in a message: earlier parts of the request stay the same, byte for byte.
func TestCatalogGrows(t *testing.T) {
	catalog := &agent.Catalog{Most: 250, Finder: "find"}
	registry := library(catalog)
	if err := registry.Set("mcp:z", outers("mcp:z", "z__one")); err != nil {
		t.Fatal(err)
	}
	m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{
		func(_ context.Context, say func(...model.Event)) error {
			if err := registry.Set("mcp:a", outers("mcp:a", "a__one", "a__two", "a__three")); err != nil {
				return err
			}
			say(call("1", "look", `{}`), callsEnd)
			return nil
		},
		stop("done"),
	}}
	a := agent.New(agent.Options{Model: m, Executor: &tool.Executor{Registry: registry, Policy: allowed}, System: "You work.", Catalog: catalog})
	if _, err := a.Run(t.Context(), model.Text("go")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"look z__one", "look z__one find"}, []string{declared(m.requests[0]), declared(m.requests[1])}); diff != "" {
		t.Error(diff)
	}
	if m.requests[1].System != "You work." {
		t.Errorf("the system prompt became %q", m.requests[1].System)
	}
	last := m.requests[1].Messages[len(m.requests[1].Messages)-1]
	if !strings.Contains(last.Text(), "3 more tools are available") || !strings.Contains(last.Text(), "a__one, a__three, a__two") {
		t.Errorf("the model is told %q", last.Text())
	}
}

// Without a limit, without a finder, and with few tools, all are declared; a deferred built-in tool is neither declared nor
// listed.
func TestCatalogDefersNothing(t *testing.T) {
	for name, catalog := range map[string]*agent.Catalog{
		"no catalog": nil, "no limit": {Finder: "find"}, "no finder": {Most: 1, Finder: "lost"}, "few tools": {Most: 1000, Finder: "find"},
	} {
		t.Run(name, func(t *testing.T) {
			registry := library(catalog)
			if err := registry.Set("mcp:a", outers("mcp:a", "a__one")); err != nil {
				t.Fatal(err)
			}
			m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{stop("done")}}
			a := agent.New(agent.Options{Model: m, Executor: &tool.Executor{Registry: registry, Policy: allowed}, System: "You work.", Catalog: catalog})
			if _, err := a.Run(t.Context(), model.Text("go")); err != nil {
				t.Fatal(err)
			}
			if got := declared(m.requests[0]); got != "a__one look" || m.requests[0].System != "You work." {
				t.Errorf("%s, system %q", got, m.requests[0].System)
			}
		})
	}
}

// Only the tool of the model's dialect is declared; the others can be called. Another model's is declared after it.
func TestDialects(t *testing.T) {
	def := func(name string, d tool.Dialect) tool.Tool {
		return tool.Define(tool.Def[struct{}]{Name: name, Description: "Edits.", Kind: tool.Read, Dialect: d,
			Deferred: d == tool.PatchDialect, Prepare: nothing[struct{}]})
	}
	both := []tool.Tool{def("edit", tool.ReplaceDialect), def("apply_patch", tool.PatchDialect), def("look", "")}
	for _, c := range []struct {
		tools   []tool.Tool
		dialect tool.Dialect
		want    string
	}{
		{both, "", "edit look"},
		{both, tool.ReplaceDialect, "edit look"},
		{both, tool.PatchDialect, "apply_patch look"},
		{both[:1], tool.PatchDialect, "edit"},
	} {
		m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{stop("done")}}
		a := agent.New(agent.Options{
			Model: m, Executor: &tool.Executor{Registry: tool.NewRegistry(c.tools...), Policy: allowed},
			Dialect: func(string) tool.Dialect { return c.dialect },
		})
		if _, err := a.Run(t.Context(), model.Text("go")); err != nil {
			t.Fatal(err)
		}
		if got := declared(m.requests[0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.dialect, got, c.want)
		}
	}
}

// A subagent has its own view: tools that it found are not declared to others.
func TestCatalogOfSubagent(t *testing.T) {
	catalog := &agent.Catalog{Most: 100, Finder: "find"}
	registry := library(catalog)
	if err := registry.Set("mcp:a", outers("mcp:a", "a__one", "a__two", "a__three")); err != nil {
		t.Fatal(err)
	}
	m := &script{says: map[string][]func(context.Context, func(...model.Event)) error{
		"sub": {says(call("1", "find", `{"name":"a__two"}`), callsEnd), stop("found")},
		"top": {stop("done")},
	}}
	x := &tool.Executor{Registry: registry, Policy: allowed}
	a := agent.New(agent.Options{Model: m, Executor: x, Catalog: catalog})
	crew := agent.NewCrew(agent.CrewOptions{Model: m, Executor: x, Catalog: catalog})
	defer crew.Close()
	if _, err := crew.Do(t.Context(), agent.Task{Prompt: "sub"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(t.Context(), model.Text("top")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range m.requests {
		got = append(got, declared(r))
	}
	if diff := cmp.Diff([]string{"find look", "find look a__two", "find look"}, got); diff != "" {
		t.Error(diff)
	}
}

// Tools that were called in a continued conversation are declared immediately.
func TestCatalogOfContinuedConversation(t *testing.T) {
	catalog := &agent.Catalog{Most: 100, Finder: "find"}
	registry := library(catalog)
	if err := registry.Set("mcp:a", outers("mcp:a", "a__one", "a__two", "a__three")); err != nil {
		t.Fatal(err)
	}
	m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{stop("done")}}
	history := []model.Message{
		model.Prompt("before"),
		{Role: model.Assistant, Parts: []model.Part{call("1", "a__two", `{}`)}},
		{Role: model.Tool, Parts: []model.Part{model.Response{ID: "1", Name: "a__two", Content: []tool.Part{tool.Text("x")}}}},
	}
	a := agent.New(agent.Options{Model: m, Executor: &tool.Executor{Registry: registry, Policy: allowed}, Catalog: catalog, History: history})
	if _, err := a.Run(t.Context(), model.Text("go")); err != nil {
		t.Fatal(err)
	}
	if got := declared(m.requests[0]); got != "a__two find look" {
		t.Error(got)
	}
}

// The list of thousands of names is bounded: each server has a share.
func TestCatalogOfThousands(t *testing.T) {
	catalog := &agent.Catalog{Most: 100, Finder: "find"}
	registry := library(catalog)
	for _, server := range []string{"small", "large"} {
		var names []string
		for i := range map[string]int{"small": 3, "large": 3000}[server] {
			names = append(names, fmt.Sprintf("%s__tool_%d", server, i))
		}
		if err := registry.Set("mcp:"+server, outers("mcp:"+server, names...)); err != nil {
			t.Fatal(err)
		}
	}
	m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{stop("done")}}
	a := agent.New(agent.Options{Model: m, Executor: &tool.Executor{Registry: registry, Policy: allowed}, Catalog: catalog})
	if _, err := a.Run(t.Context(), model.Text("go")); err != nil {
		t.Fatal(err)
	}
	system := m.requests[0].System
	if len(system) > 20_000 || !strings.Contains(system, "small__tool_0, small__tool_1, small__tool_2") || !strings.Contains(system, " more from mcp:large") {
		t.Errorf("%d characters: %.300s … %.300s", len(system), system, system[max(0, len(system)-300):])
	}
}

// The estimate counts bytes of the request, and characters for other scripts.
func TestTokens(t *testing.T) {
	d := tool.Declaration{Name: "x", Description: strings.Repeat("word ", 700), Parameters: json.RawMessage(`{}`)}
	if n := agent.Tokens(d); n < 1000 || n > 1100 {
		t.Errorf("3,500 bytes of prose are %d tokens", n)
	}
	d.Description = strings.Repeat("字", 1000)
	if n := agent.Tokens(d); n < 1000 || n > 1100 {
		t.Errorf("1,000 characters are %d tokens", n)
	}
}

// Declarations only grow: a tool that changed stays as it was declared, and the change is a message; a tool that
// disappeared stays declared, and its calls fail with the reason.
func TestDeclarationsOnlyGrow(t *testing.T) {
	catalog := &agent.Catalog{}
	registry := library(catalog)
	set := func(tools ...tool.Tool) {
		if err := registry.Set("mcp:s", tools); err != nil {
			t.Fatal(err)
		}
	}
	set(outer{"s__a", "mcp:s"}, outer{"s__b", "mcp:s"})
	m := &fakeModel{turns: []func(context.Context, func(...model.Event)) error{
		stop("one"), says(call("1", "s__b", `{"text":"x"}`), callsEnd), stop("two"),
	}}
	a := agent.New(agent.Options{Model: m, Executor: &tool.Executor{Registry: registry}, Catalog: catalog})
	if _, err := a.Run(t.Context(), model.Text("go")); err != nil {
		t.Fatal(err)
	}
	set(changedTool{outer{"s__a", "mcp:s"}}, outer{"s__0", "mcp:s"})
	if _, err := a.Run(t.Context(), model.Text("again")); err != nil {
		t.Fatal(err)
	}
	first, last := m.requests[0].Tools, m.requests[2].Tools
	if len(last) != len(first)+1 || last[len(first)].Name != "s__0" {
		t.Fatalf("declared %d, then %d", len(first), len(last))
	}
	if d := cmp.Diff(first, last[:len(first)]); d != "" {
		t.Errorf("(-first +last):\n%s", d)
	}
	got := show(a.History())
	for _, want := range []string{
		"user: The tool s__a changed. Its declaration above no longer applies.\nDescription: New.\nParameters: {",
		"1 s__b fails: s__b is no longer available: the MCP server s doesn't offer it anymore. Use another tool.",
	} {
		if !strings.Contains(got, want) || strings.Count(got, "s__a changed") != 1 {
			t.Errorf("lacks %q, once:\n%s", want, got)
		}
	}
}

type changedTool struct{ outer }

func (c changedTool) Declaration() tool.Declaration {
	d := c.outer.Declaration()
	d.Description = "New."
	return d
}
