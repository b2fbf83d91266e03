package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/goal"
	"github.com/adze-dev/adze/internal/app/hooks"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
)

// planText begins the note for a model in plan mode; planEnd follows.
const planText = "Plan mode is on: research only; calls that modify anything are denied. When your plan is ready, "

// ConversationOptions configures a conversation.
type ConversationOptions struct {
	Model  model.Model
	Effort string // see [model.Request]; "": that of the settings
	Limits Limits
	// Unattended means that no user watches, although one may answer questions: see [agent.Options].
	Unattended bool
	History    []model.Message // earlier messages
	// Typed, if not nil, returns the prompts that the user entered since the last turn.
	Typed   func(context.Context) [][]model.Part
	Observe func(agent.Event)               // receives all events; may be nil
	Below   func(agent.Member, agent.Event) // receives the events of subagents, concurrently; may be nil
}

// Limits end a conversation. 0 means the setting, and less than 0 no limit.
type Limits struct {
	Turns, Calls, Tokens int // of all agents together; the tokens of sampling count too
	Wall                 time.Duration
}

// or fills in the limits of settings.
func (l Limits) or(set settings.Limits) Limits {
	l.Turns, l.Calls, l.Wall = cmp.Or(l.Turns, set.Turns), cmp.Or(l.Calls, set.Calls),
		cmp.Or(l.Wall, time.Duration(set.Seconds)*time.Second)
	l.Turns, l.Calls, l.Tokens, l.Wall = max(l.Turns, 0), max(l.Calls, 0), max(l.Tokens, 0), max(l.Wall, 0)
	return l
}

// Conversation is a conversation with a model that uses the session's tools, and its subagents. A session has one: its
// executor reports to the first observer and remembers the IDs of all calls, and background subagents belong to it.
// [Conversation.Reset] starts a new topic, [Conversation.SetModel] continues with another model.
type Conversation struct {
	session *Session
	agent   *agent.Agent
	crew    *agent.Crew
	catalog *agent.Catalog
	wall    time.Duration
	news    *changes
	hooks   *hooks.Hooks
	budget  *agent.Budget
	goal    atomic.Pointer[goal.Pursuit] // of the current or next prompt; nil: none
	// structured returns the result of structured_output, nil before that; nil: the model replies with text.
	structured func() json.RawMessage
}

// AddRoles adds types of subagents for this session, which replace others of the same name. It must come before
// Converse.
func (s *Session) AddRoles(roles []agent.Role) error {
	s.Definitions.Roles = slices.Concat(roles, s.Definitions.Roles)
	s.Tools.SetTaskTypes(s.Definitions.TaskTypes())
	return s.Executor.Registry.Set("", s.allTools())
}

// Converse starts the session's conversation. A second call panics. Subagents may use other models if the conversation
// uses the session's model.
func (s *Session) Converse(ctx context.Context, t ConversationOptions) *Conversation {
	if s.Conversation != nil {
		panic("session: Converse was called twice")
	}
	system, news := newChanges(s)
	from := s.Resumed
	s.hooks.Converse(t.Model.Name(), from != nil)
	if s.Resumed = nil; from == nil {
		from = &recording.Resumed{}
	}
	system, declared := news.begin(from, system)
	s.Recorder.Converse(t.Model.Name(), t.History)
	limits := t.Limits.or(s.Settings.Limits)
	budget := &agent.Budget{Turns: limits.Turns, Calls: limits.Calls, Tokens: limits.Tokens}
	c := &Conversation{
		session: s, catalog: s.Outside.Catalog(t.Model.Name()), wall: limits.Wall, news: news, budget: budget,
		hooks: s.hooks,
	}
	final := ""
	if s.result != nil {
		c.structured, final = s.Tools.Structured, builtin.StructuredOutput
	}
	s.Models.Count(budget)
	s.telemetry.Begin()
	key, effort := s.ID, cmp.Or(t.Effort, s.Settings.Model.Effort)
	c.agent = agent.New(agent.Options{
		Model: t.Model, Executor: s.Executor, Limits: agent.Limits{
			Turns: limits.Turns, Wall: limits.Wall, Request: s.Settings.Limits.Request,
		}, Budget: budget, Final: final,
		History: slices.Concat(from.History, t.History), CutOff: from.CutOff && len(t.History) == 0,
		Declared: declared, System: system,
		Catalog: c.catalog,
		Observe: c.observer(t.Observe),
		Effort:  effort, CacheKey: key, Window: s.Models.Window, Dialect: s.Models.Dialect,
		Unattended: !s.Env.HasUser || t.Unattended,
		News:       c.takeNews, Typed: c.takeTyped(t.Typed), Compacting: s.hooks.Compacting, Prompts: from.Prompts,
		Past: s.Tools.Past(), Kept: s.keeps, Substitute: s.Models.Substitute,
	})
	c.crew = agent.NewCrew(agent.CrewOptions{ // after the agent, whose observer it shares
		Model: t.Model, Executor: s.Executor, System: s.SystemPrompt, Roles: s.Definitions.Roles,
		Narrow: s.Rules.InMode, Budget: budget,
		Models: s.Models.ForCrew(ctx, t.Model), Catalog: c.catalog, Ended: s.awaken,
		Observe: func(m agent.Member, e agent.Event) {
			s.telemetry.Below(m, e)
			s.Recorder.Event(m.Path, e)
			if t.Below != nil {
				t.Below(m, e)
			}
		},
		Started: s.hooks.Begun, Finished: s.finished, Taken: from.Agents,
		Effort: effort, CacheKey: key, Window: s.Models.Window, Dialect: s.Models.Dialect, Past: s.Tools.Past(),
		Kept: s.keeps, Substitute: s.Models.Substitute,
		Depth: min(s.Settings.Limits.Depth, agent.DefaultDepth),
		Limit: min(s.Settings.Limits.Subagents, agent.DefaultLimit),
	})
	s.Effects.Converse(news.tell, t.Observe)
	s.Conversation = c
	return c
}

// warmAfter is how long the first request of a session has been on its way before commands are prepared: it needs the
// processors more, and then the model takes its time.
const warmAfter = 20 * time.Millisecond

// observer returns the observer of the first agent: the session sees each event before the front end.
func (c *Conversation) observer(front func(agent.Event)) func(agent.Event) {
	s, warm := c.session, sync.OnceFunc(func() { time.AfterFunc(warmAfter, c.session.Tools.Warm) })
	return func(e agent.Event) {
		s.telemetry.Event("", e)
		s.Recorder.Event("", e)
		if done, ok := e.(agent.Compacted); ok && done.Summary != "" {
			c.news.forgotten()
		}
		s.hooks.Event(e)
		if _, ok := e.(agent.Began); ok {
			warm() // the first command is prepared during the first request
		}
		if p := c.goal.Load(); p != nil {
			p.Observe(e)
		}
		if front != nil {
			front(e)
		}
	}
}

// History returns the messages so far.
func (c *Conversation) History() []model.Message { return c.agent.History() }

// Reset replaces the messages by another history; nil: a new conversation. The model gets the current context files,
// mode and date. Reset waits for a running Run. Background subagents continue.
func (c *Conversation) Reset(history []model.Message) {
	c.agent.Reset(c.news.restart(), history)
	c.session.Recorder.Reset(history)
}

// Append adds messages, between two Runs.
func (c *Conversation) Append(messages ...model.Message) { c.agent.Append(messages...) }

// SetModel continues the conversation with another model, from the next request on. Subagents that start from then on
// use it too.
func (c *Conversation) SetModel(m model.Model) {
	c.catalog.Limit(c.session.Outside.Budget(m.Name()))
	c.agent.SetModel(m)
	c.crew.SetModel(m)
	c.session.Recorder.SetModel(m.Name())
}

// SetEffort changes the effort of the model and of subagents that start from then on: see [model.Request].
func (c *Conversation) SetEffort(effort string) {
	c.agent.SetEffort(effort)
	c.crew.SetEffort(effort)
}

// SystemPrompt returns the system prompt of a conversation that starts now.
func (s *Session) SystemPrompt() string {
	return agent.SystemPrompt(s.surroundings(s.Definitions.Memory().Text, s.Policy.Mode() == permission.Plan,
		s.Env.Time()))
}

// SetPrompts changes what [Options] sets: a new system prompt, and an addition. It must be called before Converse; ""
// changes nothing.
func (s *Session) SetPrompts(replaced, appended string) {
	s.replaced, s.appended = cmp.Or(replaced, s.replaced), cmp.Or(appended, s.appended)
}

// leading returns the system prompt of the first agent, with the user's replacements and additions.
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
	return agent.Surroundings{
		Place:     s.place,
		Workspace: s.Directory.Path, AddDirs: s.addedDirs(), Date: now, NoUser: !s.Env.HasUser,
		Shell: s.Tools.OtherShell(), Extra: s.Tools.Mask(memory),
	}
}

// keeps returns what compactions of an agent's conversation keep besides prompts: the approved plan and the to-do list.
func (s *Session) keeps(by string) (texts []string) {
	if plan := s.Tools.Plan(); plan != "" && by == "" {
		texts = append(texts, "The plan that the user approved:\n"+plan)
	}
	if list := s.Tools.Todos(by); len(list) > 0 {
		texts = append(texts, "The to-do list:\n"+list.Markdown())
	}
	return texts
}

// planEnd returns the instruction for the plan. Without a user to approve it, the plan is the answer.
func (s *Session) planEnd() string {
	if t, err := s.Executor.Registry.Lookup(builtin.ExitPlanMode); err == nil {
		return "call " + t.Declaration().Name + " with the full plan for the user's approval."
	}
	return "reply with the full plan."
}

// remindText asks for the result again.
const remindText = "You replied without calling " + builtin.StructuredOutput +
	", so your result was not received. Call " +
	builtin.StructuredOutput + " with it now."

// Run runs a prompt, and continues while background subagents have reports, within the limits. With a result schema,
// the answer's text is the result as JSON.
func (c *Conversation) Run(ctx context.Context, prompt ...model.Part) (agent.Answer, error) {
	return c.run(ctx, func(ctx context.Context) (agent.Answer, error) {
		return c.submit(ctx, prompt)
	})
}

// submit runs a prompt of the user, unless a hook blocks it.
func (c *Conversation) submit(ctx context.Context, prompt []model.Part) (agent.Answer, error) {
	prompt, err := c.hooks.Prompted(ctx, prompt)
	if err != nil {
		return agent.Answer{}, err
	}
	return c.agent.Run(ctx, prompt...)
}

// Continue is like Run without a prompt, for a conversation that was interrupted before the model answered: see
// [agent.Agent.Continue].
func (c *Conversation) Continue(ctx context.Context) (agent.Answer, error) {
	return c.run(ctx, c.agent.Continue)
}

func (c *Conversation) run(ctx context.Context, begin starter) (agent.Answer, error) {
	if c.wall > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.wall,
			fmt.Errorf("stopped after %v: %w", c.wall, agent.ErrWallTime))
		defer cancel()
	}
	ctx, leave := c.hooks.Enter(ctx)
	defer leave()
	answer, err := c.pursue(ctx, begin, c.work)
	err = c.hooks.Stopped(ctx, err)
	if c.structured == nil {
		if err == nil {
			err = c.overspent()
		}
		return answer, err
	}
	if err == nil && c.structured() == nil {
		var more agent.Answer
		remind := func(ctx context.Context) (agent.Answer, error) { return c.tell(ctx, model.Text(remindText)) }
		more, err = c.workOn(ctx, remind, c.work)
		answer = sum(answer, more)
	}
	if result := c.structured(); err == nil && result != nil {
		answer.Text = string(result)
		return answer, c.overspent()
	}
	if err == nil {
		err = project.ErrUnstructured
	}
	return answer, err
}

// SetGoal sets the goal of the next prompt; nil: it has none. The error is why the command can't be checked.
func (c *Conversation) SetGoal(ctx context.Context, g *goal.Goal) error {
	c.goal.Store(nil)
	if g == nil {
		return nil
	}
	s := c.session
	p, err := goal.Start(ctx, &goal.Session{
		Dir: s.Directory.Path, Models: s.Models, Pricing: s.Settings.Model.Pricing, Executor: s.Executor,
		Shell: s.shell, HasUser: s.Env.HasUser, Notice: s.Env.Notice,
	}, *g)
	if err == nil {
		c.goal.Store(p)
		c.agent.Append(model.Prompt(p.Message()))
	}
	return err
}

// pursue runs the model until the command of the goal exits with 0, if there is a goal.
func (c *Conversation) pursue(ctx context.Context, begin starter, work func(context.Context, starter) (agent.Answer,
	error)) (answer agent.Answer, err error) {
	p := c.goal.Load()
	if p == nil {
		return c.workOn(ctx, begin, work)
	}
	ended, err := p.Pursue(ctx, func(ctx context.Context, more string) error {
		if more != "" {
			begin = func(ctx context.Context) (agent.Answer, error) { return c.tell(ctx, model.Text(more)) }
		}
		next, err := c.workOn(ctx, begin, work)
		answer = sum(answer, next)
		return err
	})
	if ended {
		c.goal.Store(nil)
	}
	return answer, err
}

// overspent returns the error of a complete answer that exceeded the token limit.
func (c *Conversation) overspent() error {
	if err := c.budget.Spend(model.Usage{}); err != nil {
		return &Overspent{err}
	}
	return nil
}

// starter starts the model with a prompt.
type starter func(context.Context) (agent.Answer, error)

// workOn runs the model, and again while Stop hooks block.
func (c *Conversation) workOn(ctx context.Context, begin starter, work func(context.Context, starter) (agent.Answer,
	error)) (agent.Answer, error) {
	answer, err := work(ctx, begin)
	for blocks := 0; err == nil; blocks++ {
		why, more := c.hooks.Stopping(ctx, answer.Text, blocks)
		if !more || c.structured != nil && c.structured() != nil {
			break
		}
		var next agent.Answer
		next, err = work(ctx, func(ctx context.Context) (agent.Answer,
			error) {
			return c.tell(ctx, model.Text(why))
		})
		answer = sum(answer, next)
	}
	if err != nil {
		c.hooks.Failed(ctx, err, answer.Text)
	}
	c.session.Rules.TurnEnded(err)
	return answer, err
}

// tell runs the model with a message that isn't from the user.
func (c *Conversation) tell(ctx context.Context, parts ...model.Part) (agent.Answer, error) {
	c.agent.Append(model.Message{Role: model.User, Parts: parts})
	return c.agent.Continue(ctx)
}

// work runs the model, and again while background subagents have reports.
func (c *Conversation) work(ctx context.Context, begin starter) (agent.Answer, error) {
	answer, err := begin(ctx)
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
		more, err = c.tell(ctx, parts...)
		answer = sum(answer, more)
	}
	return answer, err
}

// Turn answers a prompt without waiting for background subagents, for an interactive front end. Without a prompt, it
// passes on the reports of background work, and does nothing if there are none.
func (c *Conversation) Turn(ctx context.Context, prompt ...model.Part) (agent.Answer, error) {
	begin := func(ctx context.Context) (agent.Answer, error) { return c.submit(ctx, prompt) }
	if len(prompt) == 0 {
		report := model.Message{Role: model.User}
		for _, n := range slices.Concat(c.session.Tools.JobNews(), c.crew.News()) {
			report.Parts = append(report.Parts, model.Text(n))
		}
		if len(report.Parts) == 0 {
			return agent.Answer{}, nil
		}
		c.agent.Append(report) // not a prompt of the user
		begin = c.agent.Continue
	}
	return c.turn(ctx, begin)
}

// Retry requests the model's answer again, after a Turn that failed without one.
func (c *Conversation) Retry(ctx context.Context) (agent.Answer, error) {
	return c.turn(ctx, c.agent.Continue)
}

func (c *Conversation) turn(ctx context.Context, begin starter) (agent.Answer, error) {
	ctx, leave := c.hooks.Enter(ctx)
	defer leave()
	answer, err := c.pursue(ctx, begin, func(ctx context.Context, f starter) (agent.Answer, error) { return f(ctx) })
	if err = c.hooks.Stopped(ctx, err); err == nil {
		err = c.overspent()
	}
	return answer, err
}

// Wake returns a channel that has a value after background subagents or commands have finished: then call Turn without
// a prompt, unless a running one takes their reports.
func (c *Conversation) Wake() <-chan struct{} { return c.session.wake }

// awaken sends to Wake.
func (s *Session) awaken() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// takeNews returns messages to the model, each once.
func (c *Conversation) takeNews(ctx context.Context) []string {
	c.session.Effects.Ended(ctx)
	return slices.Concat(c.session.Tools.News(), c.crew.News(), c.news.news(), c.hooks.News())
}

// takeTyped passes on prompts that the user entered while the model worked, unless a hook blocks them.
func (c *Conversation) takeTyped(typed func(context.Context) [][]model.Part) func(context.Context) [][]model.Part {
	if typed == nil {
		return nil
	}
	return func(ctx context.Context) [][]model.Part {
		var out [][]model.Part
		for _, prompt := range typed(ctx) {
			prompt, err := c.hooks.Prompted(ctx, prompt)
			if err != nil {
				c.session.Env.Warn("%v", err)
				continue
			}
			out = append(out, prompt)
		}
		return out
	}
}

// Compact replaces the conversation by a summary of the model: see [agent.Agent.Compact].
func (c *Conversation) Compact(ctx context.Context, focus string) (agent.Compacted, error) {
	return c.agent.Compact(ctx, focus)
}

// Context returns how many tokens the next request has, and how many the model's context window.
func (c *Conversation) Context() (tokens, window int) { return c.agent.Context() }

// sum combines the answers of two runs of one prompt.
func sum(a, b agent.Answer) agent.Answer {
	b.Turns += a.Turns
	b.Usage = a.Usage.Plus(b.Usage)
	b.Duration += a.Duration
	b.ModelTime += a.ModelTime
	b.Denied = append(a.Denied, b.Denied...)
	return b
}

// Overspent is the error of a run with a complete answer that exceeded the token limit.
type Overspent struct{ Err error }

func (e *Overspent) Error() string { return e.Err.Error() }

// Unwrap returns the limit.
func (e *Overspent) Unwrap() error { return e.Err }
