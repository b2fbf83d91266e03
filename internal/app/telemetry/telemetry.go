// Package telemetry reports a session to an OpenTelemetry collector: spans for the session, its subagents, turns, model
// requests, tool calls, trials, approvals and hooks, and metrics, with the GenAI semantic conventions.
//
//	r, err := telemetry.Open(env, set, session, mask) // nil: no collector is configured
//	defer r.Close()
//	r.Begin()
//	r.Event("", event)
//
// A nil Run does nothing. Prompts, arguments, results and commands are sent only if the user asks for them, masked.
package telemetry

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/otlp"
	"github.com/adze-dev/adze/tool"
)

// Run reports a session.
type Run struct {
	env      project.Env
	settings *settings.Settings
	session  string              // its ID
	mask     func(string) string // masks secrets
	exporter *otlp.Exporter
	content  bool // texts are sent too
	trace    string

	mu    sync.Mutex
	queue *otlp.Queue           // nil: the conversation hasn't begun
	open  map[string]*otlp.Span // by ID
	turns map[string]string     // ID of the running turn of each agent
	count int                   // of spans without their own ID
}

// Open reads the variables of OpenTelemetry and the settings. It returns nil if they name no collector.
func Open(env project.Env, set *settings.Settings, session string, mask func(string) string) (*Run, error) {
	x, err := otlp.New(set.Telemetry.Endpoint, env.Getenv, "adze", env.Version)
	if x == nil || err != nil {
		return nil, err
	}
	content := strings.EqualFold(env.Getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"), "true")
	return &Run{
		env: env, settings: set, session: session, mask: mask, exporter: x, content: content || set.Telemetry.Content,
		trace: otlp.ID(16, rand.Text()), open: map[string]*otlp.Span{}, turns: map[string]string{},
	}, nil
}

// locked calls a function that uses what was reported so far; not for a nil Run.
func (r *Run) locked(use func()) {
	if r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		use()
	}
}

// Begin begins the session's span. Before it, nothing is reported.
func (r *Run) Begin() {
	r.locked(func() {
		r.queue = otlp.NewQueue(r.exporter, func(err error) { r.env.Warn("telemetry can't be sent: %v", err) })
		r.agent("", "adze", "")
	})
}

// Close ends all spans and sends the rest.
func (r *Run) Close() {
	r.locked(func() {
		for id := range r.open {
			r.end(id)
		}
	})
	if r != nil {
		r.queue.Close()
	}
}

func (r *Run) now() time.Time { return r.env.Time() }

// id returns the ID of a span that others refer to, maybe before it begins.
func (r *Run) id(kind string, parts ...string) string {
	return otlp.ID(8, append([]string{r.trace, kind}, parts...)...)
}

// next returns the ID of a span that nothing else refers to.
func (r *Run) next() string {
	r.count++
	return r.id("span", strconv.Itoa(r.count))
}

func (r *Run) begin(id, parent, name string, attributes ...any) *otlp.Span {
	s := otlp.Begin(r.trace, id, parent, name, r.now(), attributes...)
	r.open[id] = s
	return s
}

// end ends a span and sends it, unless it has ended.
func (r *Run) end(id string) {
	if s := r.open[id]; s != nil {
		delete(r.open, id)
		r.queue.Add(s.End(r.now()))
	}
}

// agent begins the span of an agent, unless it runs.
func (r *Run) agent(path, name, parent string) {
	if id := r.id("agent", path); r.open[id] == nil {
		r.begin(id, parent, "invoke_agent "+name, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", name,
			"gen_ai.agent.id", path, "gen_ai.conversation.id", r.session)
	}
}

// parent returns the running turn of an agent, or the agent.
func (r *Run) parent(by string) string {
	if turn := r.turns[by]; turn != "" {
		return turn
	}
	return r.id("agent", by)
}

func (r *Run) endTurn(by string) {
	r.end(r.turns[by])
	delete(r.turns, by)
}

// maxText bounds the characters of a text in a span.
const maxText = 16_000

// text adds a masked text to a span, if the user wants texts.
func (r *Run) text(s *otlp.Span, key, text string) {
	if r.content && text != "" {
		s.Add(key, tool.Cut(r.mask(text), maxText))
	}
}

// Below reports an event of a subagent.
func (r *Run) Below(m agent.Member, e agent.Event) {
	r.locked(func() { r.agent(m.Path, m.Role, r.id("call", m.Call.By, m.Call.ID)) })
	r.Event(m.Path, e)
}

// Finished reports the end of a subagent.
func (r *Run) Finished(m agent.Member) {
	r.locked(func() {
		r.endTurn(m.Path)
		r.end(r.id("agent", m.Path))
	})
}

// Event reports an event of an agent, and of the first one ("") the steps of all calls.
func (r *Run) Event(by string, e agent.Event) {
	r.locked(func() { r.event(by, e) })
}

func (r *Run) event(by string, e agent.Event) {
	switch e := e.(type) {
	case agent.Began:
		r.endTurn(by)
		r.turns[by] = r.next()
		r.begin(r.turns[by], r.id("agent", by), "turn", "adze.turn", e.Turn)
	case agent.Called:
		s := r.begin(r.id("call", by, e.ID), r.parent(by), "execute_tool "+e.Name, "gen_ai.operation.name",
			"execute_tool", "gen_ai.tool.name", e.Name, "gen_ai.tool.call.id", e.ID, "gen_ai.tool.type", "function")
		r.text(s, "gen_ai.tool.call.arguments", string(e.Args))
	case agent.Answered:
		if len(e.Message.Calls()) == 0 {
			r.endTurn(by)
		}
	case agent.Responded:
		for _, o := range e.Outcomes {
			r.ended(r.id("call", by, o.Call.ID), o, "policy")
		}
		r.endTurn(by)
	case agent.Step:
		r.step(e.Event)
	}
}

// step reports the trial of a call, the question about it, and its end. The next step ends a trial and a question.
func (r *Run) step(e tool.Event) {
	id := r.id("call", e.Request.Call.By, e.Request.Call.ID)
	trial, question := r.id("trial", id), r.id("approval", id)
	if e.Stage == tool.Showing {
		return
	}
	by := "policy"
	if s := r.open[question]; s != nil {
		if by = "user"; !r.env.HasUser {
			by = "no-user"
		}
		if e.Stage == tool.Running {
			s.Add("adze.decision", "allow", "adze.decision.by", string(e.Decision.Cause.Kind))
		} else if e.Outcome != nil && e.Outcome.Status == tool.StatusDenied {
			s.Add("adze.decision", "deny", "adze.decision.by", by)
		}
	}
	r.end(trial)
	r.end(question)
	switch {
	case e.Stage == tool.Trying:
		r.begin(trial, id, "trial")
	case e.Stage == tool.Asking:
		r.begin(question, id, "approval", "adze.approval.reason", string(e.Decision.Cause.Kind))
	case e.Stage == tool.Running:
		r.decided(e.Request.Declaration.Name, "allow", string(e.Decision.Cause.Kind))
	case e.Outcome != nil:
		r.ended(id, *e.Outcome, by)
	}
}

// decided counts a decision about a call.
func (r *Run) decided(name, decision, by string) {
	r.queue.Record("adze.decisions", "{decision}", nil, 1, "gen_ai.tool.name", name, "adze.decision", decision,
		"adze.decision.by", by)
}

// ended ends the span of a call, once. by is who denied it, if it was denied.
func (r *Run) ended(id string, o tool.Outcome, by string) {
	s := r.open[id]
	if s == nil {
		return
	}
	about := []any{"gen_ai.tool.name", o.Name}
	s.Add("adze.status", string(o.Status))
	r.text(s, "gen_ai.tool.call.result", o.Result.Text())
	if o.Error != nil {
		s.Fail(string(o.Error.Type))
		about = append(about, "error.type", string(o.Error.Type))
	}
	if o.Status == tool.StatusDenied {
		r.decided(o.Name, "deny", by)
	}
	r.end(id)
	r.queue.Record("gen_ai.execute_tool.duration", "s", seconds, o.Duration.Seconds(), about...)
}

// Hook reports that a hook runs. It returns what the hook gets to continue the trace, and a function for its end.
func (r *Run) Hook(in hook.Input, h hook.Hook) (string, func(hook.Verdict, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	parent, id := r.parent(in.AgentID), r.next()
	if in.ToolUseID != "" {
		parent = r.id("call", in.AgentID, in.ToolUseID)
	}
	s := r.begin(id, parent, "hook "+string(in.Event), "adze.hook.event", string(in.Event))
	r.text(s, "adze.hook.command", h.Title())
	return s.Traceparent(), func(v hook.Verdict, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		s.Add("adze.decision", v.String())
		if err != nil {
			s.Fail("hook_failed")
		}
		r.end(id)
	}
}

// Traceparent returns what a server gets to continue the trace in a call; "": nothing.
func (r *Run) Traceparent(c tool.Call) (text string) {
	r.locked(func() {
		if s := r.open[r.id("call", c.By, c.ID)]; s != nil {
			text = s.Traceparent()
		}
	})
	return text
}
