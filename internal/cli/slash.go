package cli

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/discover"
	contextfiles "github.com/adze-dev/adze/internal/context"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// slash is a command that a prompt begins with, such as /help. Every front end has the same ones: see slashes.
type slash struct {
	name  string // without the /
	words string // what it takes
	about string
	run   func(ctx context.Context, s *session, words string) (expansion, error)
}

// expansion is what became of a slash command: words for the person, or else what to tell the model.
type expansion struct {
	print   string
	history []model.Message // what was said before
	parts   []model.Part    // the prompt
}

// slashes is the one table of slash commands. The prompts of MCP servers come last, as far as they are known.
func (s *session) slashes() []slash {
	all := []slash{
		{name: "help", about: "list these commands", run: slashHelp},
		{name: "memory", about: "show what the context files tell every model", run: slashMemory},
	}
	if s.outside == nil || s.outside.servers == nil {
		return all
	}
	for _, p := range s.outside.servers.Prompts() {
		all = append(all, promptCommand(p))
	}
	return all
}

var slashLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^/([\pL\d_][^\s/:]*(?::\S+)?)(?:[ \t]+(.*?))?[ \t\r]*(?:\n|$)`)
})

// slashed splits a prompt that begins with a slash command: its first line is the command, what follows is for the
// model. A path is no command, and neither is the comment of a program.
func slashed(prompt string) (name, words, rest string, ok bool) {
	m := slashLine().FindStringSubmatch(prompt)
	if m == nil {
		return "", "", prompt, false
	}
	return m[1], m[2], strings.TrimSpace(prompt[len(m[0]):]), true
}

// expand runs the slash command that a prompt begins with. It is false for a prompt that begins with none.
func (s *session) expand(ctx context.Context, env Env, prompt string) (expansion, bool, error) {
	name, words, rest, ok := slashed(prompt)
	if !ok {
		return expansion{}, false, nil
	}
	c, known := findSlash(s.slashes(), name)
	if !known || c.name == "help" {
		s.settle(ctx, env) // servers whose prompts are not known yet
		c, known = findSlash(s.slashes(), name)
	}
	if !known {
		if _, err := os.Lstat("/" + name); err == nil {
			return expansion{}, false, nil // a folder at the root, and something about it
		}
		return expansion{}, true, exitf(exitInput, "there is no command /%s; there are: %s\n"+
			"(a prompt that begins with / and is no command can begin with a blank)", name, strings.Join(slashNames(s.slashes()), ", "))
	}
	x, err := c.run(ctx, s, words)
	if err == nil && rest != "" && x.print == "" {
		x.parts = append(x.parts, model.Text(rest))
	}
	return x, true, err
}

// findSlash finds a command by its name; the prompt of a server also by its name alone, if no other server has it.
func findSlash(all []slash, name string) (slash, bool) {
	var found []slash
	for _, c := range all {
		if c.name == name {
			return c, true
		}
		if _, own, ok := strings.Cut(c.name, ":"); ok && own == name {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return slash{}, false
	}
	return found[0], true
}

func slashNames(all []slash) []string {
	var names []string
	for _, c := range all {
		names = append(names, "/"+c.name)
	}
	return names
}

func slashHelp(_ context.Context, s *session, _ string) (expansion, error) {
	var rows [][]string
	for _, c := range s.slashes() {
		about, _, _ := strings.Cut(c.about, "\n")
		rows = append(rows, []string{tool.Visible(strings.TrimSpace("/" + c.name + " " + c.words)), tool.Visible(about)})
	}
	return expansion{print: "Commands that a prompt can begin with:\n" + table(rows) +
		"@path attaches a file, @server:uri a resource of an MCP server, and !command runs a command."}, nil
}

func slashMemory(_ context.Context, s *session, _ string) (expansion, error) {
	loaded := contextfiles.Load(s.definitions.options)
	return expansion{print: memoryText(s, loaded)}, nil
}

// promptCommand is the prompt of an MCP server as a command: /server:prompt name=value …
func promptCommand(p discover.Prompt) slash {
	var words []string
	for _, a := range p.Arguments {
		word := a.Name + "=…"
		if !a.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	c := slash{name: p.Server + ":" + strings.Join(strings.Fields(p.Name), "-"), words: strings.Join(words, " "), about: p.Description}
	if c.about == "" {
		c.about = p.Title
	}
	c.run = func(ctx context.Context, s *session, words string) (expansion, error) {
		args, missing := promptArguments(p.Arguments, splitQuoted(words))
		if len(missing) > 0 {
			return expansion{}, exitf(exitInput, "/%s needs %s; it takes: /%s %s%s", c.name, strings.Join(missing, " and "), c.name, c.words,
				s.suggestions(ctx, p, missing, args))
		}
		messages, err := s.outside.servers.Prompt(ctx, p.Server, p.Name, args)
		if err != nil {
			return expansion{}, err
		}
		return conversation(messages), nil
	}
	return c
}

// suggestions are the values that the server proposes for arguments.
func (s *session) suggestions(ctx context.Context, p discover.Prompt, arguments []string, given map[string]string) string {
	text := ""
	for _, a := range arguments {
		if values := s.outside.servers.Complete(ctx, p.Server, p.Name, a, "", given); len(values) > 0 {
			text += fmt.Sprintf("\n%s: %s", a, tool.Visible(strings.Join(values[:min(len(values), 20)], ", ")))
		}
	}
	return text
}

// promptArguments reads name=value words, and others in the order of the arguments; the last one takes all that is left.
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

// splitQuoted splits at blanks that stand in no quotes, and takes the quotes off.
func splitQuoted(s string) []string {
	var words []string
	var b strings.Builder
	quote, began := rune(0), false
	for i, r := range s {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\'') && strings.ContainsRune(s[i+1:], r) && (b.Len() == 0 || strings.HasSuffix(b.String(), "=")):
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

// conversation is a server's prompt for the model: its last words are the prompt, those before them were said before.
func conversation(messages []discover.Message) expansion {
	var x expansion
	for i, m := range messages {
		role := model.User
		if m.Role == "assistant" {
			role = model.Assistant
		}
		var parts []model.Part
		for _, p := range m.Content {
			if t, ok := p.(tool.Text); ok {
				p = tool.Text(tool.Cut(string(t), maxAttached))
			}
			parts = append(parts, promptPart(p))
		}
		if role == model.User && allUser(messages[i:]) {
			x.parts = append(x.parts, parts...)
			continue
		}
		if n := len(x.history); n > 0 && x.history[n-1].Role == role {
			x.history[n-1].Parts = append(x.history[n-1].Parts, parts...)
			continue
		}
		x.history = append(x.history, model.Message{Role: role, Parts: parts})
	}
	if x.parts == nil {
		x.parts = []model.Part{model.Text("Go on.")}
	}
	return x
}

func allUser(messages []discover.Message) bool {
	return !slices.ContainsFunc(messages, func(m discover.Message) bool { return m.Role == "assistant" })
}
