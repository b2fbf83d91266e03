package session

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Slash is a command that a prompt begins with, such as /help. Every front end has the same ones: see Slashes.
type Slash struct {
	Name  string   // without the /
	Also  []string // other names
	Words string   // what it takes
	About string

	run func(ctx context.Context, s *Session, words string) (Expansion, error)
}

// Expansion is what became of a slash command: something for the user, or else what to tell the model.
type Expansion struct {
	Print    string
	Markdown bool            // what Print is; otherwise it is a text as it is
	Commands []Slash         // to be listed
	History  []model.Message // what was said before
	Parts    []model.Part    // the prompt
	Quit     bool            // the user ends the conversation
}

// ForPerson reports whether nothing is left to tell a model.
func (x Expansion) ForPerson() bool { return x.Print != "" || len(x.Commands) > 0 || x.Quit }

// Slashes is the one table of slash commands. The prompts of MCP servers come last, as far as they are known.
func (s *Session) Slashes() []Slash {
	all := []Slash{
		{Name: "help", About: "list these commands", run: slashHelp},
		{Name: "compress", About: "replace the older part of the conversation by a summary", run: slashCompress},
		{Name: "memory", About: "show the loaded context files", run: slashMemory},
	}
	if s.interactive {
		all = append(all, talkSlashes()...)
		slices.SortFunc(all, func(a, b Slash) int { return strings.Compare(a.Name, b.Name) })
	}
	all = append(all, s.Outside.Prompts()...)
	disabled := settings.Texts(s.Settings.Context.DisabledSlashes)
	return slices.DeleteFunc(all, func(c Slash) bool {
		return slices.ContainsFunc(disabled, func(name string) bool { return strings.EqualFold(strings.TrimPrefix(name, "/"), c.Name) })
	})
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

// Expand runs the slash command that a prompt begins with. It is false for a prompt that begins with none.
func (s *Session) Expand(ctx context.Context, prompt string) (Expansion, bool, error) {
	name, words, rest, ok := slashed(prompt)
	if !ok {
		return Expansion{}, false, nil
	}
	c, known := findSlash(s.Slashes(), name)
	if !known || c.Name == "help" {
		s.Outside.Settle(ctx) // servers whose prompts are not known yet
		c, known = findSlash(s.Slashes(), name)
	}
	if !known {
		if _, err := os.Lstat("/" + name); err == nil {
			return Expansion{}, false, nil // a directory at the root, and something about it
		}
		return Expansion{}, true, errorf(ErrPrompt, "unknown command /%s (available: %s)\n"+
			"To send it as text, start with a space.", name, strings.Join(slashNames(s.Slashes()), ", "))
	}
	x, err := c.run(ctx, s, words)
	if err == nil && rest != "" && !x.ForPerson() {
		x.Parts = append(x.Parts, model.Text(rest))
	}
	return x, true, err
}

// findSlash finds a command by its name; the prompt of a server also by its name alone, if no other server has it.
func findSlash(all []Slash, name string) (Slash, bool) {
	var found []Slash
	for _, c := range all {
		if c.Name == name || slices.Contains(c.Also, name) {
			return c, true
		}
		if _, own, ok := strings.Cut(c.Name, ":"); ok && own == name {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return Slash{}, false
	}
	return found[0], true
}

func slashNames(all []Slash) []string {
	var names []string
	for _, c := range all {
		names = append(names, "/"+c.Name)
	}
	return names
}

func slashHelp(_ context.Context, s *Session, _ string) (Expansion, error) {
	return Expansion{Commands: s.Slashes()}, nil
}

func slashMemory(_ context.Context, s *Session, _ string) (Expansion, error) {
	return Expansion{Print: s.Definitions.Describe(s.Definitions.Memory())}, nil
}

func slashCompress(ctx context.Context, s *Session, _ string) (Expansion, error) {
	if s.talk == nil {
		return Expansion{Print: "Nothing to compact: the conversation has not started."}, nil
	}
	done, err := s.talk.Compact(ctx)
	switch {
	case ctx.Err() != nil:
		return Expansion{}, err
	case err != nil:
		return Expansion{Print: tool.Visible(err.Error())}, nil
	}
	return Expansion{Print: done.String()}, nil
}
