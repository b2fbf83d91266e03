package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/adze-dev/adze/internal/session"
)

// bang splits a prompt that begins with "!": its first line is a command that the user runs, what follows is for the
// model.
func bang(prompt string) (command, rest string, ok bool) {
	line, ok := strings.CutPrefix(prompt, "!")
	if !ok {
		return "", prompt, false
	}
	command, rest, _ = strings.Cut(line, "\n")
	return strings.TrimSpace(command), strings.TrimSpace(rest), true
}

// bangPrompt runs the command of a prompt that begins with one. What it printed goes to the user and, if there is a
// prompt beside it, to the model: it gives what is left for that, and nothing if the command was all.
func bangPrompt(ctx context.Context, env Env, s *session.Session, prompt string) (string, error) {
	command, rest, ok := bang(prompt)
	if !ok {
		return prompt, nil
	}
	if command == "" {
		return "", exitf(exitInput, "no command after !")
	}
	out, err := s.RunAsUser(ctx, command, nil)
	if err != nil {
		return "", err
	}
	if rest == "" {
		_, err := io.WriteString(env.Stdout, session.CommandOutput(out.Result.Text()))
		if err == nil && out.Error != nil {
			err = exitf(exitError, "%s", out.Error.Message)
		}
		return "", err
	}
	fmt.Fprint(env.Stderr, session.CommandOutput(out.Result.Text()))
	return fmt.Sprintf("I ran a command:\n%s\n\n%s", out.Result.Text(), rest), nil
}
