package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
)

// planText begins what a model in plan mode reads; the rest is what to do with the plan.
const planText = "Plan mode is on: research only; calls that modify anything are denied. When your plan is ready, "

// ConversationOptions configures a conversation.
type ConversationOptions struct {
	Model   model.Model
	Limits  Limits
	History []model.Message                 // what was said before
	Observe func(agent.Event)               // receives all events; may be nil
	Below   func(agent.Member, agent.Event) // receives the events of subagents, concurrently; may be nil
}

// Limits end a conversation. 0 means what settings say, and less than 0 no limit.
type Limits struct {
	Turns, Calls, Tokens int // of all agents together; the tokens of sampling count too
	Wall                 time.Duration
}

// or fills in the limits of settings.
func (l Limits) or(set settings.Limits) Limits {
	l.Turns, l.Calls, l.Wall = cmp.Or(l.Turns, set.Turns), cmp.Or(l.Calls, set.Calls), cmp.Or(l.Wall, time.Duration(set.Seconds)*time.Second)
	l.Turns, l.Calls, l.Tokens, l.Wall = max(l.Turns, 0), max(l.Calls, 0), max(l.Tokens, 0), max(l.Wall, 0)
	return l
}

// Conversation is a model at work with the session's tools, and the crew that it delegates to.
type Conversation struct {
	agent   *agent.Agent
	crew    *agent.Crew
	catalog *agent.Catalog
	wall    time.Duration
	news    *changes
	budget  *agent.Budget
	// structured returns the result that the model must return with structured_output, nil before that; nil: it replies
	// with text.
	structured func() json.RawMessage
}

// Converse starts the session's conversation and ends the previous one. Subagents may name models of their own if the
// conversation uses the session's model.
func (s *Session) Converse(ctx context.Context, t ConversationOptions) *Conversation {
	if s.talk != nil {
		s.talk.crew.Close()
	}
	system, news := newChanges(s)
	limits := t.Limits.or(s.Settings.Limits)
	budget := &agent.Budget{Turns: limits.Turns, Calls: limits.Calls, Tokens: limits.Tokens}
	c := &Conversation{catalog: s.Outside.newCatalog(t.Model.Name()), wall: limits.Wall, news: news, budget: budget}
	final := ""
	if s.result != nil {
		c.structured, final = s.tools.Structured, builtin.StructuredOutput
	}
	s.Models.count(budget)
	key, effort := NewID(), s.Settings.Model.Effort
	c.agent = agent.New(agent.Options{
		Model: t.Model, Executor: s.Executor, Limits: agent.Limits{Turns: limits.Turns, Wall: limits.Wall}, Budget: budget, Final: final, History: t.History, System: system, Observe: news.observing(t.Observe), Catalog: c.catalog,
		Effort: effort, CacheKey: key, Window: s.window, Unattended: !s.env.HasUser,
		News: func() []string { return slices.Concat(s.tools.News(), c.crew.News(), news.news()) },
	})
	c.crew = agent.NewCrew(agent.CrewOptions{ // after the agent, whose observer it shares
		Model: t.Model, Executor: s.Executor, System: s.system, Roles: s.Definitions.Roles, Narrow: s.narrow, Budget: budget,
		Models: s.Models.forCrew(ctx, t.Model), Withhold: builtin.Personal, Observe: t.Below, Catalog: c.catalog,
		Effort: effort, CacheKey: key, Depth: min(s.Settings.Limits.Depth, agent.DefaultDepth), Limit: min(s.Settings.Limits.Subagents, agent.DefaultLimit),
		Window: s.window,
	})
	s.talk = c
	return c
}

// system is the system prompt of a conversation that starts now.
func (s *Session) system() string {
	return agent.SystemPrompt(s.surroundings(s.Definitions.Memory().Text, s.Policy.Mode() == permission.Plan, s.env.now()))
}

// leading is the system prompt of the first agent, with what the user replaces and appends.
func (s *Session) leading(memory string, plan bool, now time.Time) string {
	around := s.surroundings(memory, plan, now)
	around.Base = s.replaced
	if s.appended != "" {
		around.Extra += "\n\n" + s.appended
	}
	return agent.SystemPrompt(around)
}

func (s *Session) surroundings(memory string, plan bool, now time.Time) agent.Surroundings {
	if plan {
		memory += "\n" + planText + s.planEnd()
	}
	return agent.Surroundings{Workspace: s.Folder.Path, Date: now, NoUser: !s.env.HasUser, Extra: memory}
}

// planEnd is what a model does with its plan. Without a user to approve it, the plan is the answer.
func (s *Session) planEnd() string {
	if t, err := s.Executor.Registry.Lookup(builtin.ExitPlanMode); err == nil {
		return "call " + t.Declaration().Name + " with the full plan for the user's approval."
	}
	return "reply with the full plan."
}

// remindText asks for the result once more.
const remindText = "You replied without calling " + builtin.StructuredOutput + ", so your result was not received. Call " +
	builtin.StructuredOutput + " with it now."

// Run runs a prompt, and continues while background subagents still have something to report, within the limits. Where a
// result of a schema is expected, the answer's text is that result as JSON.
func (c *Conversation) Run(ctx context.Context, prompt ...model.Part) (agent.Answer, error) {
	if c.wall > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.wall, fmt.Errorf("stopped after %v: %w", c.wall, agent.ErrWallTime))
		defer cancel()
	}
	answer, err := c.run(ctx, prompt)
	if c.structured == nil {
		if err == nil {
			err = c.overspent()
		}
		return answer, err
	}
	if err == nil && c.structured() == nil {
		var more agent.Answer
		more, err = c.run(ctx, []model.Part{model.Text(remindText)})
		answer = sum(answer, more)
	}
	if result := c.structured(); err == nil && result != nil {
		answer.Text = string(result)
		return answer, c.overspent()
	}
	if err == nil {
		err = ErrUnstructured
	}
	return answer, err
}

// overspent is the error of a complete answer that took more tokens than the limit allows.
func (c *Conversation) overspent() error {
	if err := c.budget.Spend(model.Usage{}); err != nil {
		return &Overspent{err}
	}
	return nil
}

func (c *Conversation) run(ctx context.Context, prompt []model.Part) (agent.Answer, error) {
	answer, err := c.agent.Run(ctx, prompt...)
	for err == nil && (c.structured == nil || c.structured() == nil) {
		news := c.crew.Await(ctx)
		if ctx.Err() != nil {
			return answer, context.Cause(ctx)
		}
		if len(news) == 0 {
			break
		}
		var parts []model.Part
		for _, n := range news {
			parts = append(parts, model.Text(n))
		}
		var more agent.Answer
		more, err = c.agent.Run(ctx, parts...)
		answer = sum(answer, more)
	}
	return answer, err
}

// Compact replaces the conversation, except for its last turns, by a summary of the model.
func (c *Conversation) Compact(ctx context.Context) (agent.Compacted, error) {
	return c.agent.Compact(ctx)
}

// Context returns how many tokens the next request has, and how many the model's context window.
func (c *Conversation) Context() (tokens, window int) { return c.agent.Context() }

// sum is the answer of two runs of one prompt.
func sum(a, b agent.Answer) agent.Answer {
	b.Turns += a.Turns
	b.Usage = a.Usage.Plus(b.Usage)
	b.Duration += a.Duration
	b.ModelTime += a.ModelTime
	b.Denied = append(a.Denied, b.Denied...)
	return b
}
