package session

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/nearest"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/model"
	"github.com/adze-dev/adze/tool"
)

// Slash is a command that a prompt begins with, such as /help. There is one table of them for all front ends: see Slashes.
type Slash struct {
	Name  string   // without the /
	Also  []string // other names
	Words string   // what it takes
	About string
	// Aside says that the command runs while a prompt is being answered: it shows something, or changes how calls are judged.
	Aside bool

	needs  Ability
	values func(ctx context.Context, s *Session) []Value // what its words can be; nil: anything
	run    func(ctx context.Context, s *Session, words string) (Expansion, error)
}

// Value is what the words of a command can be, and what that is.
type Value struct{ Text, About string }

// Ability is what a front end can do for commands. Those that need more are not listed there.
type Ability uint8

const (
	Lasts   Ability = 1 << iota // the conversation continues after a command
	Quits                       // the user can end it with a command
	Copies                      // it can copy to the clipboard of the user
	Answers                     // a user answers its questions
	Draws                       // it has a screen with keys and colors
	Chooses                     // it lets the user choose, and can continue with another session
)

// Expansion is what became of a slash command: something for the user, or else what to tell the model.
type Expansion struct {
	Print    string
	Markdown bool            // what Print is; otherwise it is a text as it is
	Commands []Slash         // to be listed
	History  []model.Message // what was said before
	Parts    []model.Part    // the prompt
	Copy     string          // for the user's clipboard
	Quit     bool            // the user ends the conversation
	Action   Action          // for the front end; "": none
	Words    string          // of the action

	Choice *Choice // to be decided by the user; a front end that can't ask prints Print
	Resume string  // ID of the session to continue instead of this one
	AddDir string  // directory to add to the workspace: the session is opened again with it
	Edit   string  // for the prompt that the user types next
}

// ForPerson reports whether nothing is left to tell a model.
func (x Expansion) ForPerson() bool {
	return x.Print != "" || len(x.Commands) > 0 || x.Quit || x.Action != "" || x.Choice != nil || x.Resume != "" || x.AddDir != ""
}

// Supports adds to what the front end can do. One that draws also shows which model was found, so that is not told.
func (s *Session) Supports(more Ability) {
	s.front |= more
	s.Models.quiet = s.front&Draws != 0
}

// Slashes are the slash commands that work in this session's front end: those of the table, then those of command files and
// the prompts of MCP servers, as far as they are known.
func (s *Session) Slashes() []Slash {
	all := slices.DeleteFunc(slashTable(), func(c Slash) bool { return c.needs&^s.front != 0 })
	all = append(all, s.customSlashes()...)
	all = append(all, s.Outside.Prompts()...)
	disabled := settings.Texts(s.Settings.Context.DisabledSlashes)
	return slices.DeleteFunc(all, func(c Slash) bool {
		return slices.ContainsFunc(append([]string{c.Name}, c.Also...), func(name string) bool {
			return slices.ContainsFunc(disabled, func(off string) bool { return strings.EqualFold(strings.TrimPrefix(off, "/"), name) })
		})
	})
}

// FindSlash finds the command that a prompt begins with.
func (s *Session) FindSlash(prompt string) (Slash, bool) {
	name, _, _, ok := slashed(prompt)
	if !ok {
		return Slash{}, false
	}
	return findSlash(s.Slashes(), name)
}

// SlashValues are what the word behind a command can be, as far as that is a list.
func (s *Session) SlashValues(ctx context.Context, prompt string) []Value {
	c, ok := s.FindSlash(prompt)
	if !ok || c.values == nil {
		return nil
	}
	return c.values(ctx, s)
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
		if err := s.unknownSlash(name); err != nil {
			return Expansion{}, true, err
		}
		return Expansion{}, false, nil
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

// slashName is the form of a name that is taken for a mistyped command.
var slashName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9:_-]*$`) })

// unknownSlash is the error of a word that looks like a command and isn't one. Anything else is the start of a prompt: a
// path, or a directory at the root and something about it.
func (s *Session) unknownSlash(name string) error {
	if !slashName().MatchString(name) {
		return nil
	}
	if _, err := os.Lstat("/" + name); err == nil {
		return nil
	}
	var names []string
	for _, c := range s.Slashes() {
		names = append(append(names, c.Name), c.Also...)
	}
	hint := "See /help."
	if close := nearest.Names(name, names); len(close) > 0 {
		hint = "Did you mean /" + strings.Join(close, " or /") + "?"
	}
	return errorf(ErrPrompt, "unknown command /%s\n%s To send it as text, start with a space.", name, hint)
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
