package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/adze-dev/adze/agent"
	"github.com/adze-dev/adze/internal/headless"
	"github.com/adze-dev/adze/internal/session"
)

// runProgram lets another program drive the session: it sends prompts and requests, and answers instead of a user.
func runProgram(ctx context.Context, env Env, o *options, words []string) error {
	if o.hasPrompt && len(words) > 0 {
		return usagef("two prompts given: -p %q and %q\nQuote a prompt that contains spaces.", o.prompt, strings.Join(words, " "))
	}
	env.driven = true
	so := session.Options{Sampling: true, Front: session.Lasts}
	log, err := openLog(env, o)
	if err != nil {
		return refuse(env, o, err)
	}
	if log != nil {
		defer log.Close()
		so.Log = log
	}
	if so.Record, err = recording(ctx, env, o); err != nil {
		return refuse(env, o, err)
	}
	s, err := openSession(env, o, so)
	if err != nil {
		return refuse(env, o, err)
	}
	defer closeSession(env, s)
	failed := false
	err = headless.Run(ctx, headless.Options{
		Stdin: env.Stdin, Printer: newPrinter(env, o, s, ""), Session: s, Limits: limits(o), Show: slashText,
		Prompt: o.prompt + strings.Join(words, " "),
		Ends:   func(err error) bool { return exitCode(err) == exitTurns || exitCode(err) == exitBudget },
		Observe: func(e agent.Event) {
			if r, ok := e.(agent.Responded); ok {
				failed = failed || anyFailed(r.Outcomes)
			}
		},
	})
	switch {
	case closedPipe(err):
		return err
	case errors.Is(err, context.Canceled):
		return report(env, o, context.Canceled)
	case err != nil:
		return report(env, o, err)
	case failed && o.strict:
		return exitf(exitTools, "a tool failed (--strict-tools)")
	}
	return nil
}
