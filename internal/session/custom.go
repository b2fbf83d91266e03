package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	contextfiles "github.com/adze-dev/adze/internal/context"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// readCommands reads the command files. A built-in command can't be replaced by one.
func readCommands(p contextfiles.Places) (commands []contextfiles.Command, notes []string) {
	all, notes := contextfiles.Commands(p)
	for _, c := range all {
		if _, taken := findSlash(slashTable(), c.Name); taken {
			notes = append(notes, fmt.Sprintf("warning: %s is ignored: /%s is a built-in command. Rename the file.", c.Path, c.Name))
			continue
		}
		commands = append(commands, c)
	}
	return commands, notes
}

// customSlashes are the commands of command files as they are at present.
func (s *Session) customSlashes() []Slash {
	var all []Slash
	commands, _ := readCommands(s.Definitions.places)
	for _, c := range commands {
		hint := c.Hint
		if hint == "" && c.TakesArguments() {
			hint = "[ARGS]"
		}
		all = append(all, Slash{
			Name: c.Name, Words: hint, About: fmt.Sprintf("%s (%s)", c.Description, c.Scope),
			run: func(ctx context.Context, s *Session, words string) (Expansion, error) {
				return s.expandFile(ctx, c, words)
			},
		})
	}
	return all
}

// expandFile is the prompt of a command file: its placeholders are replaced, in their order. Nothing runs from a project that
// isn't trusted, and commands are judged as those of the model are.
func (s *Session) expandFile(ctx context.Context, c contextfiles.Command, words string) (Expansion, error) {
	file := shortPath(c.Path, s.Folder.Path)
	if c.Runs() && c.Scope == contextfiles.Project {
		how := "'adze trust'"
		if s.front&Answers != 0 {
			how = "/trust"
		}
		if !s.Definitions.trusted {
			return Expansion{}, errorf(ErrPrompt, "/%s: %s runs commands, and this project isn't trusted\nReview it with %s.", c.Name, file, how)
		}
		if !s.Definitions.had(c) {
			return Expansion{}, errorf(ErrPrompt, "/%s: %s runs commands, and it changed since the session started\nReview it with %s, and start a new session.", c.Name, file, how)
		}
	}
	var parts []model.Part
	var text strings.Builder
	for _, p := range c.Parts {
		switch p.Kind {
		case contextfiles.LiteralPart:
			text.WriteString(p.Text)
		case contextfiles.ArgumentsPart:
			text.WriteString(words)
		case contextfiles.ShellPart:
			out, err := s.runForPrompt(ctx, shellLine(p.Shell, words))
			if err != nil {
				return Expansion{}, errorf(ErrPrompt, "/%s: %s:%d: %v", c.Name, file, p.Line, err)
			}
			text.WriteString(out)
		case contextfiles.FilePart:
			content, err := s.attachNamed(ctx, p.Text)
			if err != nil {
				return Expansion{}, errorf(ErrPrompt, "/%s: %s:%d: @{%s}: %v", c.Name, file, p.Line, p.Text, err)
			}
			text.WriteString("@" + p.Text)
			parts = append(parts, content...)
		}
	}
	if words != "" && !c.TakesArguments() {
		text.WriteString("\n\n" + words)
	}
	named, err := s.PromptParts(ctx, words, words) // files that the arguments name
	if err != nil {
		return Expansion{}, err
	}
	prompt := append([]model.Part{model.Text(strings.TrimSpace(text.String()))}, parts...)
	return Expansion{Parts: append(prompt, named[1:]...)}, nil
}

// attachNamed reads the file or directory of a path, as far as policy or the user lets it be read.
func (s *Session) attachNamed(ctx context.Context, path string) ([]model.Part, error) {
	mention := `@"` + path + `"`
	if found := s.tools.Mentions(mention); len(found) == 0 || found[0].Absent {
		return nil, errors.New("no such file")
	}
	return s.attach(ctx, mention)
}

// shellLine is a command with its arguments, each time as one quoted word.
func shellLine(parts []contextfiles.Part, words string) string {
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.Kind != contextfiles.ArgumentsPart:
			b.WriteString(p.Text)
		case words != "":
			b.WriteString("'" + strings.ReplaceAll(words, "'", `'\''`) + "'")
		}
	}
	return b.String()
}

// shellLines are the commands of a command file, with a placeholder for arguments.
func shellLines(c contextfiles.Command) []string {
	var lines []string
	for _, p := range c.Parts {
		if p.Kind != contextfiles.ShellPart {
			continue
		}
		var b strings.Builder
		for _, s := range p.Shell {
			if b.WriteString(s.Text); s.Kind == contextfiles.ArgumentsPart {
				b.WriteString("{{args}}")
			}
		}
		lines = append(lines, "!{"+b.String()+"}")
	}
	return lines
}

// runForPrompt runs a command of a command file with the policy, the hooks and the user's approval that a call of the model
// has, and returns what it printed.
func (s *Session) runForPrompt(ctx context.Context, line string) (string, error) {
	shell, err := Shell(s.Executor.Registry)
	if err != nil {
		return "", err
	}
	args, err := json.Marshal(map[string]any{"command": line})
	if err != nil {
		return "", err
	}
	x := &tool.Executor{
		Registry: s.Executor.Registry, Policy: s.Executor.Policy, Ask: s.Executor.Ask, Before: s.Executor.Before,
		Spill: s.Executor.Spill, Budget: s.Executor.Budget,
	}
	batch := x.Batch(ctx)
	batch.Add(tool.Call{ID: NewID(), Name: shell.Name, Args: args})
	o := batch.Wait()[0]
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case o.Status == tool.StatusSuccess:
		return strings.TrimRight(CommandOutput(o.Result.Text()), "\n"), nil
	case o.Status == tool.StatusError && o.Result.Text() != "": // it ran
		return CommandOutput(o.Result.Text()) + "(" + o.Error.Message + ")", nil
	}
	return "", errors.New(o.Error.Message)
}

// CommandOutput is what a command printed, without the labels of its result.
func CommandOutput(result string) string {
	_, text, _ := strings.Cut(result, "\nOutput: ")
	if i := strings.LastIndex(text, "\nExit Code: "); i >= 0 {
		text = text[:i]
	}
	if text == "(empty)" {
		return ""
	}
	return text + "\n"
}
