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

// tries calls every tool once, then reports.
func tries() []func(context.Context, func(...model.Event)) error {
	return []func(context.Context, func(...model.Event)) error{
		says(call("1", "look", `{"name":"x"}`), call("2", "change", `{"name":"x"}`), call("3", "odd", `{"name":"x"}`), callsEnd), stop("tried"),
	}
}

// statuses returns the statuses of one subagent's calls, by the tool's name.
func (f *office) statuses(by string) map[string]tool.Status {
	got := map[string]tool.Status{}
	for _, e := range f.seen {
		if e.Stage == tool.Done && e.Request.Call.By == by {
			got[e.Request.Call.Name] = e.Outcome.Status
		}
	}
	return got
}

// Whatever a role says, a subagent can do no more than its parent: here odd is denied to all.
func TestRoleNeverAddsRights(t *testing.T) {
	none := func(string) (tool.Policy, error) { return nil, nil }
	denyLooks := func(r tool.Request) tool.Decision {
		if r.Declaration.Name == "look" {
			return tool.Decision{Reason: "not in this mode"}
		}
		return tool.Decision{Verdict: tool.Allow}
	}
	for name, tt := range map[string]struct {
		role   agent.Role
		narrow func(string) (tool.Policy, error)
		tools  []string
		want   map[string]tool.Status
	}{
		"all": {agent.Role{}, nil, []string{"boom", "change", "look", "odd", "task", "wait"},
			map[string]tool.Status{"look": "success", "change": "success", "odd": "denied"}},
		"some, by name and alias": {agent.Role{Tools: []string{"LOOK", "agent", "Bash"}}, nil, []string{"look", "task"},
			map[string]tool.Status{"look": "success", "change": "error", "odd": "error"}},
		"all but some, also under a condition": {agent.Role{Without: []string{"Change(x)", "wait", "boom", "odd", "task"}}, nil, []string{"look"},
			map[string]tool.Status{"look": "success", "change": "error", "odd": "error"}},
		"under a condition": {agent.Role{Tools: []string{"look", "change(x)"}}, nil, []string{"look"},
			map[string]tool.Status{"look": "success", "change": "error", "odd": "error"}},
		"none": {agent.Role{Tools: []string{}}, nil, nil,
			map[string]tool.Status{"look": "error", "change": "error", "odd": "error"}},
		"a star": {agent.Role{Tools: []string{"loo*"}}, nil, []string{"look"},
			map[string]tool.Status{"look": "success", "change": "error", "odd": "error"}},
		"read-only": {agent.Role{ReadOnly: true}, nil, []string{"boom", "change", "look", "odd", "task", "wait"},
			map[string]tool.Status{"look": "success", "change": "denied", "odd": "denied"}},
		"plan, without modes": {agent.Role{Mode: "plan"}, nil, []string{"boom", "change", "look", "odd", "task", "wait"},
			map[string]tool.Status{"look": "success", "change": "denied", "odd": "denied"}},
		"yolo": {agent.Role{Mode: "yolo"}, func(string) (tool.Policy, error) {
			return func(tool.Request) tool.Decision { return tool.Decision{Verdict: tool.Allow} }, nil
		}, []string{"boom", "change", "look", "odd", "task", "wait"},
			map[string]tool.Status{"look": "success", "change": "success", "odd": "denied"}},
		"a mode and read-only": {agent.Role{Mode: "x", ReadOnly: true}, func(string) (tool.Policy, error) { return denyLooks, nil },
			[]string{"boom", "change", "look", "odd", "task", "wait"},
			map[string]tool.Status{"look": "denied", "change": "denied", "odd": "denied"}},
		"a mode that adds nothing": {agent.Role{Mode: "x", ReadOnly: true}, none, []string{"boom", "change", "look", "odd", "task", "wait"},
			map[string]tool.Status{"look": "success", "change": "denied", "odd": "denied"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.role.Name = "r"
			f := newOffice(t, agent.CrewOptions{Roles: []agent.Role{tt.role}, Narrow: tt.narrow}, turns{
				"go": {gives(`{"prompt":"try","type":"r"}`), stop("done")}, "try": tries(),
			})
			if _, _, err := f.run(t); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.tools, toolNames(f.model.first(t, "try"))); d != "" {
				t.Errorf("tools: %s", d)
			}
			if d := cmp.Diff(tt.want, f.statuses("r-1")); d != "" {
				t.Error(d)
			}
		})
	}
}

// The subagents of a restricted subagent have the same restrictions.
func TestRightsAreNotRegainedBelow(t *testing.T) {
	f := newOffice(t, agent.CrewOptions{Roles: []agent.Role{{Name: "reader", ReadOnly: true, Tools: []string{"task", "look", "change"}}}}, turns{
		"go":  {gives(`{"prompt":"mid","type":"reader"}`), stop("done")},
		"mid": {gives(`{"prompt":"try","type":"general-purpose"}`), stop("done")},
		"try": tries(),
	})
	if _, _, err := f.run(t); err != nil {
		t.Fatal(err)
	}
	want := map[string]tool.Status{"look": "success", "change": "denied", "odd": "error"}
	if d := cmp.Diff(want, f.statuses("reader-1/general-purpose-1")); d != "" {
		t.Error(d)
	}
}

// A definition that can't be enforced is an error.
func TestRoleThatCannotBeEnforced(t *testing.T) {
	for name, tt := range map[string]struct {
		o    agent.CrewOptions
		want string
	}{
		"no modes": {agent.CrewOptions{Roles: []agent.Role{{Name: "r", Mode: "default"}}}, "requests mode default, but modes aren't available here"},
		"no such mode": {agent.CrewOptions{Roles: []agent.Role{{Name: "r", Mode: "x"}}, Narrow: func(string) (tool.Policy, error) { return nil, errors.New("no mode x") }},
			"invalid definition of subagent r: no mode x"},
		"no such model": {agent.CrewOptions{Roles: []agent.Role{{Name: "r", Model: "m"}}, Models: func(string) (model.Model, error) { return nil, errors.New("no model m") }},
			"open model m: no model m"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newOffice(t, tt.o, turns{"go": {gives(`{"prompt":"try","type":"r"}`), stop("done")}, "try": tries()})
			got, _, err := f.run(t)
			if err != nil || !strings.Contains(got, tt.want) {
				t.Errorf("lacks %q: %s (%v)", tt.want, got, err)
			}
		})
	}
}

// Subagents don't have the tools for the user's own conversation, and unknown tool names are reported.
func TestWithheldAndUnknownTools(t *testing.T) {
	f := newOffice(t, agent.CrewOptions{
		Roles: []agent.Role{{Name: "r", Tools: []string{"look", "own", "Bash"}}},
	}, turns{"go": {gives(`{"prompt":"try","type":"r"}`), stop("done")}, "try": tries()})
	got, _, err := f.run(t)
	if err != nil || !strings.Contains(got, "(Its definition names unknown tools: own, Bash.)") {
		t.Errorf("%s (%v)", got, err)
	}
}
