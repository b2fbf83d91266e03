package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/internal/app/tui"
)

// completeSlash lists the commands that start as a prompt does, or what the word behind one can be.
func completeSlash(ctx context.Context, commands *slash.Commands, typed string) []tui.Candidate {
	var out []tui.Candidate
	name, word, ok := strings.Cut(typed, " ")
	if !ok {
		for _, c := range commands.List() {
			names := append([]string{c.Name}, c.Also...)
			if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix("/"+n, typed) }); i >= 0 {
				out = append(out, tui.Candidate{Text: "/" + names[i], Words: c.Words, About: c.About})
			}
		}
		return out
	}
	for _, v := range commands.Values(ctx, typed) {
		if strings.HasPrefix(v.Text, strings.TrimLeft(word, " ")) {
			out = append(out, tui.Candidate{Text: name + " " + v.Text, About: v.About})
		}
	}
	return out
}

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
		_, err := io.WriteString(env.Stdout, slash.EndLine(out.Result.Output))
		if err == nil && out.Error != nil {
			err = exitf(exitError, "%s", out.Error.Message)
		}
		return "", err
	}
	fmt.Fprint(env.Stderr, slash.EndLine(out.Result.Output))
	return fmt.Sprintf("I ran a command:\n%s\n\n%s", out.Result.Text(), rest), nil
}
