package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/adze-dev/adze/tool"
)

// bang splits a prompt that begins with "!": its first line is a command that the person runs, what follows is for the
// model.
func bang(prompt string) (command, rest string, ok bool) {
	line, ok := strings.CutPrefix(prompt, "!")
	if !ok {
		return "", prompt, false
	}
	command, rest, _ = strings.Cut(line, "\n")
	return strings.TrimSpace(command), strings.TrimSpace(rest), true
}

// runAsPerson runs a command that the person typed: it is not asked about. What it printed goes to the person and, if
// there is a prompt beside it, to the model.
func (s *session) runAsPerson(ctx context.Context, env Env, command string) (tool.Outcome, error) {
	args, err := json.Marshal(map[string]any{"command": command, "timeout": 600_000})
	if err != nil {
		return tool.Outcome{}, err
	}
	shell, err := shellDeclaration(s.exec.Registry)
	if err != nil {
		return tool.Outcome{}, err
	}
	own := &tool.Executor{
		Registry: s.exec.Registry, Spill: s.exec.Spill, Budget: s.exec.Budget,
		Policy: func(tool.Request) tool.Decision {
			return tool.Decision{Verdict: tool.Allow, Reason: "the person typed it"}
		},
	}
	batch := own.Batch(ctx)
	batch.Add(tool.Call{Name: shell.Name, Args: args})
	return batch.Wait()[0], nil
}

// bangPrompt runs the command of a prompt that begins with one. It gives what is left for the model; nothing if the
// command was all.
func (s *session) bangPrompt(ctx context.Context, env Env, prompt string) (string, error) {
	command, rest, ok := bang(prompt)
	if !ok {
		return prompt, nil
	}
	if command == "" {
		return "", exitf(exitInput, "there is no command after the !")
	}
	out, err := s.runAsPerson(ctx, env, command)
	if err != nil {
		return "", err
	}
	if rest == "" {
		_, err := io.WriteString(env.Stdout, printedOutput(out.Result.Text()))
		if err == nil && out.Error != nil {
			err = exitf(exitError, "%s", out.Error.Message)
		}
		return "", err
	}
	fmt.Fprint(env.Stderr, printedOutput(out.Result.Text()))
	return fmt.Sprintf("I ran a command:\n%s\n\n%s", out.Result.Text(), rest), nil
}

// printedOutput is what the command printed, without the labels that a model wants.
func printedOutput(text string) string {
	_, text, _ = strings.Cut(text, "\nOutput: ")
	if i := strings.LastIndex(text, "\nExit Code: "); i >= 0 {
		text = text[:i]
	}
	if text == "(empty)" {
		return ""
	}
	return text + "\n"
}
