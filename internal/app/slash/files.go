package slash

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/attach"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/session"
	contextfiles "github.com/adze-dev/adze/internal/engine/context"
	"github.com/adze-dev/adze/internal/engine/shellwords"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// readFiles reads the command files. They can't replace built-in commands, and neither can skills.
func (c *Commands) readFiles() (files []contextfiles.Command, notes []string) {
	all, notes := contextfiles.Commands(c.s.Definitions.Places)
	builtIn := c.table()
	for _, k := range c.s.Definitions.Skills {
		if _, taken := find(builtIn, k.Name); taken {
			notes = append(notes, fmt.Sprintf("warning: only the model can load the skill %s: /%[1]s is a built-in "+
				"command. Rename %s.", k.Name, k.Dir))
		}
	}
	for _, f := range all {
		if _, taken := find(builtIn, f.Name); taken {
			notes = append(notes, fmt.Sprintf("warning: %s is ignored: /%s is a built-in command. Rename the file.",
				f.Path, f.Name))
			continue
		}
		files = append(files, f)
	}
	return files, notes
}

// custom returns the commands of command files, as they are now, and skills. Skills are read only to describe them.
func (c *Commands) custom(describe bool) []Command {
	var all []Command
	files, _ := c.readFiles()
	for _, f := range files {
		hint := f.Hint
		if hint == "" && f.TakesArguments() {
			hint = "[ARGS]"
		}
		all = append(all, Command{
			Name: f.Name, Words: hint, About: fmt.Sprintf("%s (%s)", f.Description, f.Scope),
			run: func(ctx context.Context, s *session.Session, words string) (Expansion, error) {
				return expandFile(ctx, s, f, words)
			},
		})
	}
	others := append(c.table(), all...)
	for _, k := range c.s.Definitions.Skills {
		taken := func(c Command) bool { return c.Name == k.Name || slices.Contains(c.Also, k.Name) }
		if !slices.ContainsFunc(others, taken) {
			all = append(all, skillCommand(k, describe))
		}
	}
	return all
}

// skillCommand returns a skill as a command: /NAME arguments.
func skillCommand(k builtin.Skill, describe bool) Command {
	about := ""
	if describe {
		about, _ = k.About()
	}
	return Command{
		Name: k.Name, Words: "[ARGS]", About: about + " (skill)",
		run: func(ctx context.Context, s *session.Session, words string) (Expansion, error) {
			text, err := k.Text(words)
			if err != nil {
				return Expansion{}, errorf("/%s: %v", k.Name, err)
			}
			named, err := s.Attachments.PromptParts(ctx, words, words) // files that the arguments name
			if err != nil {
				return Expansion{}, err
			}
			return Expansion{Parts: append([]model.Part{model.Text(text)}, named[1:]...)}, nil
		},
	}
}

// expandFile returns the prompt of a command file with its placeholders replaced, in order. Commands are judged like
// those of the model.
func expandFile(ctx context.Context, s *session.Session, c contextfiles.Command, words string) (Expansion, error) {
	file := shortPath(c.Path, s.Directory.Path)
	var parts []model.Part
	var text, mentions strings.Builder
	for _, p := range c.Parts {
		switch p.Kind {
		case contextfiles.LiteralPart, contextfiles.ArgumentsPart:
			piece := p.Text
			if p.Kind == contextfiles.ArgumentsPart {
				piece = argumentOf(c, p, words)
			}
			text.WriteString(piece)
			if c.Mentions {
				mentions.WriteString(piece)
			}
		case contextfiles.ShellPart:
			line, err := shellLine(c, p.Shell, words)
			var out string
			if err == nil {
				out, err = runForPrompt(ctx, s, c.Allowed, line)
			}
			if err != nil {
				return Expansion{}, errorf("/%s: %s:%d: %v", c.Name, file, p.Line, err)
			}
			text.WriteString(out)
		case contextfiles.FilePart:
			content, err := s.Attachments.File(ctx, p.Text)
			if err != nil {
				return Expansion{}, errorf("/%s: %s:%d: @{%s}: %v", c.Name, file, p.Line, p.Text, err)
			}
			text.WriteString("@" + p.Text)
			parts = append(parts, content...)
		}
	}
	if words != "" && !c.TakesArguments() {
		text.WriteString("\n\n" + words)
	}
	// Files that it and the arguments name.
	named, err := s.Attachments.PromptParts(ctx, mentions.String()+" "+words, words)
	if err != nil {
		return Expansion{}, err
	}
	prompt := append([]model.Part{model.Text(strings.TrimSpace(text.String()))}, parts...)
	return Expansion{Parts: append(prompt, named[1:]...)}, nil
}

// argumentOf returns the arguments that a part stands for.
func argumentOf(c contextfiles.Command, p contextfiles.Part, words string) string {
	if p.Arg == 0 {
		return words
	}
	all := splitQuoted(words)
	switch {
	case p.Arg > len(all):
		return ""
	case p.Arg == c.Last:
		return strings.Join(all[p.Arg-1:], " ")
	}
	return all[p.Arg-1]
}

// shellLine returns a command with its arguments inserted, each as one quoted word, also within quotes.
func shellLine(c contextfiles.Command, parts []contextfiles.Part, words string) (string, error) {
	// Where a shell reads quotes in another way: here-documents, $'…', arithmetic, comments, and commands in quotes.
	unclear := regexp.MustCompile("<<|\\$'|`|\\(\\(|\\\\$|(?:^|\\s)#|\"[^\"]*\\$[({]")
	var b strings.Builder
	for _, p := range parts {
		if p.Kind != contextfiles.ArgumentsPart {
			b.WriteString(p.Text)
			continue
		}
		argument, quote := argumentOf(c, p, words), ""
		if argument == "" {
			continue
		}
		before := b.String()
		quoted := shellwords.Quote(argument)
		if quoted != argument && unclear.MatchString(before) {
			return "", errors.New("an argument with special characters can't be quoted there\n" +
				"Move it out of nested quotes, comments and here-documents.")
		}
		if open := shellwords.Split(before, true).Open; open != 0 && quoted != argument {
			quote = string(open) // ends before the word, and begins again after it
		}
		b.WriteString(quote + quoted + quote)
	}
	return b.String(), nil
}

// runForPrompt runs a command of a command file with the policy, the hooks and the approval of a model's call, and
// returns its output. allowed are the only tools that the file may use; nil: any.
func runForPrompt(ctx context.Context, s *session.Session, allowed []string, line string) (string, error) {
	shell, err := session.Shell(s.Executor.Registry)
	if err != nil {
		return "", err
	}
	args, err := json.Marshal(map[string]any{"command": line})
	if err != nil {
		return "", err
	}
	policy := s.Executor.Policy
	if allowed != nil {
		only, err := s.Rules.Only(allowed)
		if err != nil {
			return "", err
		}
		policy = tool.Stricter(policy, only)
	}
	x := &tool.Executor{
		Registry: s.Executor.Registry, Policy: policy, Ask: s.Executor.Ask, Before: s.Executor.Before,
		Mask: s.Executor.Mask, Check: s.Executor.Check, Spill: s.Executor.Spill, Budget: s.Executor.Budget,
	}
	o := x.Run(ctx, tool.Call{ID: record.NewID(), Name: shell.Name, Args: args})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case o.Status == tool.StatusSuccess:
		return strings.TrimRight(o.Result.Output, "\n"), nil
	case o.Status == tool.StatusError && o.Result.Text() != "": // it ran
		return EndLine(o.Result.Output) + "(" + o.Error.Message + ")", nil
	}
	return "", errors.New(o.Error.Message)
}

// EndLine ends the last line of an output, if there is one.
func EndLine(output string) string {
	if output == "" || strings.HasSuffix(output, "\n") {
		return output
	}
	return output + "\n"
}

// Prompts returns the known prompts of the MCP servers as commands.
func Prompts(servers *discover.Servers) []Command {
	if servers == nil {
		return nil
	}
	var all []Command
	for _, p := range servers.Prompts() {
		all = append(all, promptCommand(p))
	}
	return all
}

// promptCommand returns the prompt of an MCP server as a command: /server:prompt name=value …
func promptCommand(p discover.Prompt) Command {
	var words []string
	for _, a := range p.Arguments {
		word := a.Name + "=…"
		if !a.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	c := Command{
		Name: p.Server + ":" + strings.Join(strings.Fields(p.Name), "-"), Words: strings.Join(words, " "),
		About: cmp.Or(p.Description, p.Title),
	}
	c.run = func(ctx context.Context, s *session.Session, words string) (Expansion, error) {
		args, missing := promptArguments(p.Arguments, splitQuoted(words))
		if len(missing) > 0 {
			return Expansion{}, errorf("/%s needs %s; it takes: /%s %s%s", c.Name,
				strings.Join(missing, " and "), c.Name, c.Words,
				suggestions(ctx, s.Outside.Servers(), p, missing, args))
		}
		messages, err := s.Outside.Servers().Prompt(ctx, p.Server, p.Name, args)
		if err != nil {
			return Expansion{}, err
		}
		return conversation(s, messages), nil
	}
	return c
}

// suggestions returns the values that the server proposes for arguments.
func suggestions(ctx context.Context, servers *discover.Servers, p discover.Prompt, arguments []string,
	given map[string]string) string {
	text := ""
	for _, a := range arguments {
		if values := servers.Complete(ctx, p.Server, p.Name, a, "", given); len(values) > 0 {
			text += fmt.Sprintf("\n%s: %s", a, tool.Visible(strings.Join(values[:min(len(values), 20)], ", ")))
		}
	}
	return text
}

// promptArguments reads name=value words, and others in the order of the arguments; the last one takes the rest.
func promptArguments(known []discover.PromptArgument, words []string) (args map[string]string, missing []string) {
	args = map[string]string{}
	var loose []string
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		name = strings.TrimPrefix(name, "--")
		if ok && slices.ContainsFunc(known, func(a discover.PromptArgument) bool { return a.Name == name }) {
			args[name] = value
			continue
		}
		loose = append(loose, w)
	}
	var open []string
	for _, a := range known {
		if _, given := args[a.Name]; !given {
			open = append(open, a.Name)
		}
	}
	for i, name := range open {
		if i == len(loose) {
			break
		}
		args[name] = loose[i]
		if i == len(open)-1 {
			args[name] = strings.Join(loose[i:], " ")
		}
	}
	for _, a := range known {
		if _, given := args[a.Name]; a.Required && !given {
			missing = append(missing, a.Name)
		}
	}
	return args, missing
}

// splitQuoted splits at spaces outside of quotes, and removes the quotes.
func splitQuoted(s string) []string {
	var words []string
	var b strings.Builder
	quote, began := rune(0), false
	for i, r := range s {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\'') && strings.ContainsRune(s[i+1:], r) &&
			(b.Len() == 0 || strings.HasSuffix(b.String(), "=")):
			quote, began = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if began {
				words = append(words, b.String())
			}
			b.Reset()
			began = false
		default:
			b.WriteRune(r)
			began = true
		}
	}
	if began {
		words = append(words, b.String())
	}
	return words
}

// conversation returns a server's prompt for the model: the last message is the prompt, and those before it are
// history.
func conversation(s *session.Session, messages []discover.Message) Expansion {
	var x Expansion
	for i, m := range messages {
		role := model.User
		if m.Role == "assistant" {
			role = model.Assistant
		}
		var parts []model.Part
		for _, p := range m.Content {
			if t, ok := p.(tool.Text); ok {
				p = tool.Text(tool.Cut(string(t), attach.MaxAttached))
			}
			parts = append(parts, attach.PromptPart(p))
		}
		parts = s.Attachments.MaskParts(parts)
		if role == model.User && allUser(messages[i:]) {
			x.Parts = append(x.Parts, parts...)
			continue
		}
		if n := len(x.History); n > 0 && x.History[n-1].Role == role {
			x.History[n-1].Parts = append(x.History[n-1].Parts, parts...)
			continue
		}
		x.History = append(x.History, model.Message{Role: role, Parts: parts})
	}
	if x.Parts == nil {
		x.Parts = []model.Part{model.Text("Go on.")}
	}
	return x
}

func allUser(messages []discover.Message) bool {
	return !slices.ContainsFunc(messages, func(m discover.Message) bool { return m.Role == "assistant" })
}
