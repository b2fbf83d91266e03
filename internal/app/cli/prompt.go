package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/app/console"
	"github.com/adze-dev/adze/internal/app/headless"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// runPrompt runs one prompt, or a conversation without one if the terminal is the user's.
func runPrompt(ctx context.Context, env Env, o *options, words []string) error {
	if o.acp {
		return serveEditor(ctx, env, o, words)
	}
	if err := checkFormats(o); err != nil {
		return err
	}
	words = titleWords(env, o, words)
	if o.input == "stream-json" {
		return runProgram(ctx, env, o, words)
	}
	if isInteractive(env, o, words) {
		if o.hasSchema {
			return exitf(exitInput, "--json-schema needs a prompt\nAdd -p PROMPT.")
		}
		return runInteractive(ctx, env, o)
	}
	if o.firstPrompt != "" {
		return usagef("--prompt-interactive needs a terminal\nUse -p for a prompt without one.")
	}
	side := console.NewScreen(env.streams())
	defer side.Start()()
	env.Stderr = side // from now on the screen knows what is on it
	so := session.Options{Sampling: true}
	var err error
	if so.Result, err = resultSchema(env, o); err != nil {
		return refuse(env, o, err)
	}
	s, end, err := openRun(ctx, env, o, so)
	if err != nil {
		return refuse(env, o, err)
	}
	defer end()
	commands := slash.New(s, 0)
	w, err := promptText(env, o, words)
	if err != nil {
		return refuse(env, o, err)
	}
	if w.piped == "" && o.goal.Command == "" {
		if w.prompt, err = bangPrompt(ctx, env, s, w.prompt); err != nil || w.prompt == "" {
			return err
		}
	}
	s.Outside.Connect()
	if env.Terminal {
		s.Executor.Ask, s.Executor.AskInTurn = s.Asking(console.NewAsker(env.streams(), side).Ask), true
		defer onSuspend(func() { background(s, side) })()
	}
	s.Begin = func(ctx context.Context) (*session.Conversation, error) { return beginForCommand(ctx, s, o) }
	said, isCommand, err := commands.Expand(ctx, w.prompt)
	if err != nil {
		return refuse(env, o, err)
	}
	if said.ForPerson() && o.goal.Command != "" {
		return refuse(env, o, usagef("--until needs a prompt for the model"))
	}
	if said.ForPerson() {
		return newOutput(env, o, s, commands, side, "").End(agent.Answer{Text: said.Text()}, nil)
	}
	m, err := s.Models.Open(ctx)
	if err != nil {
		return refuse(env, o, err)
	}
	s.Outside.WaitLikely(ctx)
	if !isCommand {
		if said.Parts, err = s.Attachments.PromptParts(ctx, w.text(), w.prompt); err != nil {
			return refuse(env, o, err)
		}
	} else if w.piped != "" {
		said.Parts = append([]model.Part{model.Text(s.Tools.Mask(w.piped))}, said.Parts...)
	}
	out := newOutput(env, o, s, commands, side, m.Name())
	failed := false
	talk := s.Converse(ctx, session.ConversationOptions{Model: m, Limits: limits(o), History: said.History,
		Below: out.Below, Observe: func(e agent.Event) {
			if r, ok := e.(agent.Responded); ok {
				failed = failed || anyFailed(r.Outcomes)
			}
			out.Event(e)
		}})
	if o.goal.Command != "" {
		if err := talk.SetGoal(ctx, &o.goal); err != nil {
			return refuse(env, o, err)
		}
	}
	answer, err := talk.Run(ctx, said.Parts...)
	if printed := out.End(answer, err); printed != nil {
		return printed
	}
	if err != nil {
		return report(env, o, err)
	}
	if failed && o.strict {
		return exitf(exitTools, "a call failed or was denied (--strict-tools)")
	}
	return nil
}

// beginForCommand begins the conversation of a session for a command that needs it: no prompt follows.
func beginForCommand(ctx context.Context, s *session.Session, o *options) (*session.Conversation, error) {
	m, err := s.Models.Open(ctx)
	if err != nil {
		return nil, err
	}
	return s.Converse(ctx, session.ConversationOptions{Model: m, Limits: limits(o)}), nil
}

// background moves what runs to the background, because the user does not want to wait.
func background(s *session.Session, side *console.Screen) {
	for _, id := range s.Tools.Background() {
		side.Tell("moved to the background as " + id)
	}
}

func limits(o *options) session.Limits {
	return session.Limits{Turns: o.maxTurns, Calls: o.maxCalls, Tokens: o.maxTokens, Wall: o.maxTime}
}

func anyFailed(outcomes []tool.Outcome) bool {
	for _, o := range outcomes {
		if o.Status == tool.StatusError || o.Status == tool.StatusDenied {
			return true
		}
	}
	return false
}

// refuse reports an error of a run that failed before the model was asked. A program gets a result, too.
func refuse(env Env, o *options, err error) error {
	if o.format == formatJSON || o.format == formatStreamJSON {
		if printed := headless.Refused(env.Stdout, o.format == formatStreamJSON, cmp.Or(o.record.newID, o.record.id),
			err); printed != nil {
			return printed
		}
	}
	return report(env, o, err)
}

// report makes an error readable for the reader of stderr: a program gets JSON.
func report(env Env, o *options, err error) error {
	code := exitCode(err)
	text := err.Error()
	if code == exitInterrupted {
		text = "interrupted"
	}
	if o.format == "" || o.format == formatText {
		return exitf(code, "%s", text)
	}
	kind := "error"
	var failure *model.Error
	if errors.As(err, &failure) {
		kind = strings.ReplaceAll(string(failure.Kind), " ", "_")
	}
	if err := printJSON(env.Stderr, map[string]any{"error": map[string]any{
		"type": kind, "message": text, "code": code,
	}}); err != nil {
		return err
	}
	return exitf(code, "")
}
