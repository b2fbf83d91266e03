package telemetry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/dev/leaktest"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// collector keeps spans and metrics. Package internal/dev/otlptest compares them with OTLP's own types.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*span
	metrics string
}

type span struct {
	SpanID, ParentSpanID, Name string
	Attributes                 []struct {
		Key   string
		Value map[string]any
	}
}

func (s *span) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			for _, v := range a.Value {
				return fmt.Sprint(v)
			}
		}
	}
	return ""
}

func collect(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var q struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []*span } }
			// raw: only texts are looked for
			ResourceMetrics json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.metrics += string(q.ResourceMetrics)
		for _, resource := range q.ResourceSpans {
			c.spans = append(c.spans, resource.ScopeSpans[0].Spans...)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// tree prints the spans below a parent, with the attributes of these names.
func (c *collector) tree(parent, indent string, keys ...string) string {
	var lines []string
	for _, s := range c.spans {
		if s.ParentSpanID != parent {
			continue
		}
		line := indent + s.Name
		for _, k := range keys {
			if v := s.attribute(k); v != "" {
				line += " " + v
			}
		}
		lines = append(lines, line+"\n"+c.tree(s.SpanID, indent+"  ", keys...))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func open(t *testing.T, c *collector, user bool) *Run {
	t.Helper()
	set := &settings.Settings{Telemetry: settings.Telemetry{Endpoint: c.URL}}
	r, err := Open(project.Env{
		HasUser: user, Tell: func(note string) { t.Error(note) }, Getenv: func(string) string { return "" },
	}, set, "s", func(s string) string { return s })
	if r == nil || err != nil {
		t.Fatal(r, err)
	}
	return r
}

func step(stage tool.Stage, by, id string, o *tool.Outcome) agent.Step {
	return agent.Step{Event: tool.Event{Stage: stage, Outcome: o, Request: tool.Request{
		Call: tool.Call{By: by, ID: id}, Declaration: tool.Declaration{Name: "shell"},
	}, Decision: tool.Decision{Cause: tool.Cause{Kind: tool.ByRule}}}}
}

func answered(calls ...tool.Call) agent.Answered {
	var parts []model.Part
	for _, c := range calls {
		parts = append(parts, model.Call{Call: c})
	}
	return agent.Answered{Message: model.Message{Parts: parts}}
}

// A call has its trials, its questions and its hooks. What is still running at the end of the session ends with it.
func TestSpans(t *testing.T) {
	t.Parallel()
	c := collect(t)
	r := open(t, c, true)
	r.Begin()
	observe := func(e agent.Event) { r.Event("", e) }
	observe(agent.Began{Turn: 1})
	calls := []tool.Call{{ID: "a", Name: "shell"}, {ID: "b", Name: "shell"}, {ID: "c", Name: "shell"}, {ID: "d", Name: "shell"}}
	for _, call := range calls {
		observe(agent.Called{Call: call})
	}
	observe(answered(calls...))
	// a: tried, then approved
	observe(step(tool.Trying, "", "a", nil))
	observe(step(tool.Showing, "", "a", nil))
	observe(step(tool.Asking, "", "a", nil))
	observe(step(tool.Running, "", "a", nil))
	_, end := r.Hook(hook.Input{Event: hook.PostToolUse, ToolUseID: "a"}, hook.Hook{Command: "secret"})
	end(hook.None, errors.New("failed"))
	observe(step(tool.Done, "", "a", &tool.Outcome{Name: "shell", Status: tool.StatusSuccess, Duration: time.Second}))
	// b: denied by the user; c: a question that is withdrawn; d: denied by a rule
	denied := tool.Outcome{Name: "shell", Status: tool.StatusDenied, Error: &tool.Failure{Type: tool.ExecutionDenied, Message: "secret"}}
	observe(step(tool.Asking, "", "b", nil))
	observe(step(tool.Done, "", "b", &denied))
	observe(step(tool.Asking, "", "c", nil))
	observe(step(tool.Withdrawn, "", "c", nil))
	var outcomes []tool.Outcome
	for _, call := range calls {
		o := denied
		o.Call = call
		outcomes = append(outcomes, o)
	}
	observe(agent.Responded{Outcomes: outcomes})
	// a background subagent that is still running
	observe(agent.Began{Turn: 2})
	task := tool.Call{ID: "t", Name: "task"}
	observe(agent.Called{Call: task})
	r.Below(agent.Member{Path: "explore-1", Role: "explore", Call: task}, agent.Began{Turn: 1})
	_, endHook := r.Hook(hook.Input{Event: hook.SubagentStart, AgentID: "explore-1"}, hook.Hook{})
	endHook(hook.Allow, nil)
	observe(agent.Responded{Outcomes: []tool.Outcome{{Call: task, Name: "task", Status: tool.StatusSuccess}}})
	r.Close()
	want := `invoke_agent adze
  turn
    execute_tool shell denied execution_denied
    execute_tool shell denied execution_denied
      approval
    execute_tool shell denied execution_denied
      approval deny user
    execute_tool shell success
      approval allow rule
      hook PostToolUse none hook_failed
      trial
  turn
    execute_tool task success
      invoke_agent explore
        turn
          hook SubagentStart allow
`
	got := c.tree("", "", "adze.status", "adze.decision", "adze.decision.by", "error.type")
	if got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	if strings.Contains(got, "secret") || !strings.Contains(c.metrics, `"adze.decisions"`) {
		t.Errorf("%s\n%s", got, c.metrics)
	}
}

// Before a conversation, and without a collector, nothing is reported.
func TestNothing(t *testing.T) {
	t.Parallel()
	c := collect(t)
	r := open(t, c, false)
	observe := func(e agent.Event) { r.Event("", e) }
	observe(agent.Called{Call: tool.Call{ID: "a", Name: "shell"}})
	observe(step(tool.Done, "", "a", &tool.Outcome{Name: "shell", Status: tool.StatusSuccess}))
	r.Close()
	if len(c.spans) != 0 || c.metrics != "" {
		t.Errorf("%v %s", c.spans, c.metrics)
	}
	var none *Run
	none.Begin()
	none.Event("", agent.Began{})
	none.Below(agent.Member{}, agent.Began{})
	if none.Traceparent(tool.Call{}) != "" {
		t.Error("a nil Run has a trace")
	}
	none.Finished(agent.Member{})
	none.Close()
}

// The names of providers are those of the conventions.
func TestProvider(t *testing.T) {
	t.Parallel()
	for api, want := range map[string]string{
		"openai": "openai", "openai-responses": "openai", "anthropic": "anthropic", "gemini": "gcp.gemini",
		"vertex-ai": "gcp.vertex_ai", "azure-openai": "azure.ai.openai",
	} {
		if got := provider(api); got != want {
			t.Errorf("%s: %s", api, got)
		}
	}
}
