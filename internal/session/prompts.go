package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Prompts are the prompts of the MCP servers as commands, as far as they are known.
func (o *Outside) Prompts() []Slash {
	if o.servers == nil {
		return nil
	}
	var all []Slash
	for _, p := range o.servers.Prompts() {
		all = append(all, promptCommand(p))
	}
	return all
}

// promptCommand is the prompt of an MCP server as a command: /server:prompt name=value …
func promptCommand(p discover.Prompt) Slash {
	var words []string
	for _, a := range p.Arguments {
		word := a.Name + "=…"
		if !a.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	c := Slash{Name: p.Server + ":" + strings.Join(strings.Fields(p.Name), "-"), Words: strings.Join(words, " "), About: p.Description}
	if c.About == "" {
		c.About = p.Title
	}
	c.run = func(ctx context.Context, s *Session, words string) (Expansion, error) {
		args, missing := promptArguments(p.Arguments, splitQuoted(words))
		if len(missing) > 0 {
			return Expansion{}, errorf(ErrPrompt, "/%s needs %s; it takes: /%s %s%s", c.Name, strings.Join(missing, " and "), c.Name, c.Words,
				s.suggestions(ctx, p, missing, args))
		}
		messages, err := s.Outside.servers.Prompt(ctx, p.Server, p.Name, args)
		if err != nil {
			return Expansion{}, err
		}
		return conversation(messages), nil
	}
	return c
}

// suggestions are the values that the server proposes for arguments.
func (s *Session) suggestions(ctx context.Context, p discover.Prompt, arguments []string, given map[string]string) string {
	text := ""
	for _, a := range arguments {
		if values := s.Outside.servers.Complete(ctx, p.Server, p.Name, a, "", given); len(values) > 0 {
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
func conversation(messages []discover.Message) Expansion {
	var x Expansion
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
