package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// runPrompt takes one prompt all the way, headless.
func runPrompt(ctx context.Context, env Env, o *options, words []string) error {
	s, err := openSession(env, o, manyCalls)
	if err != nil {
		return err
	}
	defer s.close(env)
	w, err := promptText(env, o, words)
	if err != nil {
		return err
	}
	if w.piped == "" {
		if w.prompt, err = s.bangPrompt(ctx, env, w.prompt); err != nil || w.prompt == "" {
			return err
		}
	}
	s.sampling = s.sample
	s.connect(env, "")
	said, isCommand, err := s.expand(ctx, env, w.prompt)
	if err != nil {
		return s.report(env, o, err)
	}
	if said.print != "" {
		return newOutput(env, o, s, nil, "").end(agent.Answer{Text: said.print}, nil)
	}
	m, err := openModel(ctx, env, s.settings)
	if err != nil {
		return s.report(env, o, err)
	}
	defer m.Close()
	s.model = m
	var closeOthers func()
	s.models, closeOthers = s.otherModels(ctx, env)
	defer closeOthers()
	side := &quietWriter{w: env.Stderr}
	if env.Terminal {
		t := newTerminal(env, s.policy)
		t.save = func(scope, offer string) (string, error) { return s.saveRule(env, scope, offer) }
		t.out = side
		s.exec.Ask = s.asking(t.ask)
		defer onSuspend(func() { s.background(side) })()
	}
	s.settleSoon(ctx, env)
	if !isCommand {
		if said.parts, err = s.promptParts(ctx, env, w); err != nil {
			return s.report(env, o, err)
		}
	} else if w.piped != "" {
		said.parts = append([]model.Part{model.Text(w.piped)}, said.parts...)
	}
	out := newOutput(env, o, s, side, m.Name())
	failed := false
	s.watch = out.below
	a := s.newAgent(m, o, said.history, func(e agent.Event) {
		if r, ok := e.(agent.Responded); ok {
			failed = failed || anyFailed(r.Outcomes)
		}
		out.event(e)
	})
	defer s.crew.Close()
	answer, err := s.converse(ctx, a, said.parts, limits(o).Wall)
	if printed := out.end(answer, err); printed != nil {
		return printed
	}
	if err != nil {
		return s.report(env, o, err)
	}
	if failed && o.strict {
		return exitf(exitTools, "a tool failed, and --strict-tools was given")
	}
	return nil
}

// promptParts is the prompt with all that it names: files by @path, and resources by @server:uri. A resource is read
// because the person has named it; what was piped in beside the prompt, others may have written.
func (s *session) promptParts(ctx context.Context, env Env, w wish) ([]model.Part, error) {
	attached, err := s.attach(ctx, env, w.text())
	if err != nil {
		return nil, err
	}
	parts := append([]model.Part{model.Text(w.text())}, attached...)
	return append(parts, s.attachResources(ctx, env, w.prompt)...), nil
}

// planText is told to a model that begins in plan mode.
const planText = "Plan mode is on: look and think, change nothing. When you know what to do, give the plan to exit_plan_mode."

// newAgent makes the agent of the session, and the crew it delegates to.
func (s *session) newAgent(m model.Model, o *options, history []model.Message, observe func(agent.Event)) *agent.Agent {
	system := func() string {
		extra := s.text()
		if s.policy.Mode() == permission.Plan {
			extra += "\n" + planText
		}
		return agent.SystemPrompt(agent.Surroundings{Workspace: s.dir, Date: time.Now(), Extra: extra})
	}
	budget := &agent.Budget{Turns: o.maxTurns}
	s.shelf = s.newShelf(m.Name())
	a := agent.New(agent.Options{
		Model: m, Executor: s.exec, Limits: limits(o), Budget: budget, History: history, System: system(), Observe: observe, Shelf: s.shelf,
		News: func() []string { return append(s.tools.News(), s.crew.News()...) },
	})
	s.crew = agent.NewCrew(agent.CrewOptions{ // after the agent, whose observer it shares
		Model: m, Executor: s.exec, System: system, Roles: s.roles, Narrow: s.narrow, Budget: budget, Models: s.models, Withhold: builtin.Personal, Observe: s.watch,
		Shelf: s.shelf,
	})
	s.remembered = func() { a.SetSystem(system()) }
	return a
}

// converse runs the prompt, and goes on while sub-agents in the background still have something to report: all of it in
// the time there is.
func (s *session) converse(ctx context.Context, a *agent.Agent, prompt []model.Part, wall time.Duration) (agent.Answer, error) {
	if wall > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, wall, fmt.Errorf("stopped after %v: %w", wall, agent.ErrWallTime))
		defer cancel()
	}
	answer, err := a.Run(ctx, prompt...)
	for err == nil {
		news := s.crew.Await(ctx)
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
		more, err = a.Run(ctx, parts...)
		answer = sum(answer, more)
	}
	return answer, err
}

// sum is the answer of two runs of one prompt.
func sum(a, b agent.Answer) agent.Answer {
	b.Turns += a.Turns
	b.Usage = a.Usage.Plus(b.Usage)
	b.Duration += a.Duration
	b.ModelTime += a.ModelTime
	b.Denied = append(a.Denied, b.Denied...)
	return b
}

// background moves what runs to the background, because the person does not want to wait for it.
func (s *session) background(side *quietWriter) {
	for _, id := range s.tools.Background() {
		side.tell("moved to the background as " + id)
	}
}

func limits(o *options) agent.Limits {
	wall, _ := time.ParseDuration(o.maxTime) // checked when it was parsed
	return agent.Limits{Turns: o.maxTurns, Wall: wall}
}

func anyFailed(outcomes []tool.Outcome) bool {
	for _, o := range outcomes {
		if o.Status == tool.StatusError {
			return true
		}
	}
	return false
}

// report makes an error readable for whoever reads stderr: a program gets JSON.
func (s *session) report(env Env, o *options, err error) error {
	code := exitCode(err)
	text := err.Error()
	if code == exitInterrupted {
		text = "interrupted"
	}
	if o.format == "" || o.format == "text" {
		return exitf(code, "%s", text)
	}
	kind := "error"
	var failure *model.Error
	if errors.As(err, &failure) {
		kind = strings.ReplaceAll(string(failure.Kind), " ", "_")
	}
	if err := printJSON(env.Stderr, map[string]any{"error": map[string]any{"type": kind, "message": text, "code": code}}); err != nil {
		return err
	}
	return exitf(code, "")
}

// textOutput prints the model's last words; on a terminal it tells on the side what happens.
type textOutput struct {
	env  Env
	side *quietWriter
}

// below tells nothing: a sub-agent's calls come as steps of the first agent.
func (t *textOutput) below(agent.Member, agent.Event) {}

func (t *textOutput) event(e agent.Event) {
	switch e := e.(type) {
	case agent.Step:
		t.step(e.Event)
	case agent.Said:
		if r, ok := e.Event.(model.Retry); ok {
			t.side.tell(fmt.Sprintf("adze: trying again: %v", r.Err))
		}
	}
}

func (t *textOutput) step(e tool.Event) {
	switch {
	case e.Stage == tool.Done && e.Outcome.Status == tool.StatusDenied:
		t.side.tell(under(e.Request.Call.By) + "✗ " + tool.Visible(e.Outcome.Error.Message))
	case !t.env.Terminal:
	case e.Stage == tool.Running:
		t.side.tell(under(e.Request.Call.By) + "● " + e.Request.Declaration.Title() + ": " + e.Request.Description)
	case e.Stage == tool.Done && e.Outcome.Error == nil:
		if list, ok := e.Outcome.Result.Display.(builtin.TodoList); ok {
			t.side.tell(checklist(list, under(e.Request.Call.By)+"  "))
		}
	case e.Stage == tool.Done:
		first, _, _ := strings.Cut(e.Outcome.Error.Message, "\n")
		t.side.tell(under(e.Request.Call.By) + "✗ " + tool.Visible(first))
	}
}

// under sets a sub-agent's calls below the one that gave it its task, with its name.
func under(by string) string {
	if by == "" {
		return ""
	}
	return strings.Repeat("  ", 1+strings.Count(by, "/")) + tool.Visible(by) + " "
}

func (t *textOutput) end(answer agent.Answer, err error) error {
	if answer.Reason == model.Length && err == nil {
		fmt.Fprintln(t.env.Stderr, "adze: the model's answer was cut off at its length limit")
	}
	if answer.Text == "" {
		return nil
	}
	_, err = fmt.Fprintln(t.env.Stdout, strings.TrimRight(answer.Text, "\n"))
	return err
}
