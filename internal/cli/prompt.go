package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// runPrompt takes one prompt all the way, headless.
func runPrompt(ctx context.Context, env Env, o *options, words []string) error {
	s, err := openSession(env, o, session.Options{Sampling: true})
	if err != nil {
		return err
	}
	defer closeSession(env, s)
	w, err := promptText(env, o, words)
	if err != nil {
		return err
	}
	if w.piped == "" {
		if w.prompt, err = bangPrompt(ctx, env, s, w.prompt); err != nil || w.prompt == "" {
			return err
		}
	}
	s.Outside.Connect()
	said, isCommand, err := s.Expand(ctx, w.prompt)
	if err != nil {
		return report(env, o, err)
	}
	if said.ForPerson() {
		return newOutput(env, o, s, nil, "").end(agent.Answer{Text: slashText(said)}, nil)
	}
	m, err := s.Models.Open(ctx)
	if err != nil {
		return report(env, o, err)
	}
	side := &quietWriter{w: env.Stderr}
	if env.Terminal {
		t := newTerminal(env, s.Policy)
		t.save = s.Folder.SaveRule
		t.out = side
		s.Executor.Ask = s.Asking(t.ask)
		defer onSuspend(func() { background(s, side) })()
	}
	s.Outside.SettleSoon(ctx)
	if !isCommand {
		if said.Parts, err = s.PromptParts(ctx, w.text(), w.prompt); err != nil {
			return report(env, o, err)
		}
	} else if w.piped != "" {
		said.Parts = append([]model.Part{model.Text(w.piped)}, said.Parts...)
	}
	out := newOutput(env, o, s, side, m.Name())
	failed := false
	talk := s.Converse(ctx, session.Talk{Model: m, Limits: limits(o), History: said.History, Below: out.below, Observe: func(e agent.Event) {
		if r, ok := e.(agent.Responded); ok {
			failed = failed || anyFailed(r.Outcomes)
		}
		out.event(e)
	}})
	answer, err := talk.Run(ctx, said.Parts...)
	if printed := out.end(answer, err); printed != nil {
		return printed
	}
	if err != nil {
		return report(env, o, err)
	}
	if failed && o.strict {
		return exitf(exitTools, "a tool failed, and --strict-tools was given")
	}
	return nil
}

// background moves what runs to the background, because the person does not want to wait for it.
func background(s *session.Session, side *quietWriter) {
	for _, id := range s.Background() {
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
func report(env Env, o *options, err error) error {
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
	said strings.Builder // by the model since its last call
}

// below tells nothing: a sub-agent's calls come as steps of the first agent.
func (t *textOutput) below(agent.Member, agent.Event) {}

func (t *textOutput) event(e agent.Event) {
	switch e := e.(type) {
	case agent.Step:
		t.step(e.Event)
	case agent.Called:
		t.between()
	case agent.Answered:
		t.said.Reset()
	case agent.Said:
		switch said := e.Event.(type) {
		case model.Text:
			t.said.WriteString(string(said))
		case model.Retry:
			t.said.Reset()
			t.side.tell("adze: " + tool.Visible(said.String()))
		}
	case agent.Resumed:
		t.side.tell(fmt.Sprintf("adze: answer cut off, asking the model to continue (%d of %d): %s", e.Times, e.Most, tool.Visible(e.Err.Error())))
	}
}

// between tells a person what the model said before a call: it is no part of the answer, but says what it is about.
func (t *textOutput) between() {
	if text := strings.TrimSpace(t.said.String()); text != "" && t.env.Terminal {
		t.side.tell(tool.Visible(text))
	}
	t.said.Reset()
}

func (t *textOutput) step(e tool.Event) {
	switch {
	case e.Stage == tool.Done && e.Outcome.Status == tool.StatusDenied:
		t.side.tell(under(e.Request.Call.By) + "✗ " + strings.ReplaceAll(tool.Visible(e.Outcome.Error.Message), "\n", "\n  "))
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
