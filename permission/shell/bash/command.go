package bash

import (
	"path"
	"slices"
	"strings"
)

// Place says where in a line a command is.
type Place int

// The places.
const (
	Plain        Place = iota // in a list, a pipe, a group, a branch, a loop
	Substitution              // $(…), `…`, <(…)
	Function                  // the body of a function
	Text                      // a text that another command runs: bash -c, eval, trap
)

// Command is one simple command.
type Command struct {
	Words  []Word
	Prefix []Assign   // assignments before it; all of it if Words is empty
	Redirs []Redirect // its own, and those of the groups around it
	Place  Place
	Source string // as it is written
	// Dirs are the directories it may run in, not resolved. nil: unknown.
	Dirs []string
	// By is the command that runs this one: env, sudo, bash -c. nil: the shell.
	By *Command
	// AddsArgs means that By adds unknown words, like xargs.
	AddsArgs bool
	// MayRun means that By may run this or not (npx rm, ssh host rm): deny and ask rules apply to it, allow rules
	// don't.
	MayRun bool

	Mark     string // what By replaces with an unknown text: {}
	Keyword  bool   // it is the keyword time
	Doubtful bool   // it may not run: a text as shells other than bash may read it, an -exec that a word may expand to
	Stdin    *Word  // what it reads from a pipe or a wrapper; nil: unknown
	around   int    // the number of its redirections that belong to groups
	Start    string // the directory the line starts in

	Values []Word // if it is a for: what it loops over
}

// Assign is an assignment before a command.
type Assign struct {
	Name  string
	Value Word
	Odd   bool // +=, an index, an array
}

// Redirect is a redirection.
type Redirect struct {
	Op     string // ">", "<", ">&", "<<"
	Number string // "2" of 2>
	Target Word   // a file, a number or "-"; the text of a here-document or here-string
	// File means that Target is opened, Write that it is opened for writing.
	File, Write bool
	Dirs        []string // the directories it may be opened in, not always those of the command
}

// Name returns the command word; "" if it is unknown.
func (c *Command) Name() string {
	if len(c.Words) == 0 || c.Words[0].Kind != Literal {
		return ""
	}
	return c.Words[0].Text
}

// Undetermined reports whether a command runs of which the program, or the text that it runs, is unknown.
func (c *Command) Undetermined() bool {
	return len(c.Words) > 0 && c.Words[0].Kind != Literal && !c.MayRun && !c.Doubtful
}

// Base returns the name without a directory.
func (c *Command) Base() string {
	name := c.Name()
	return name[strings.LastIndexAny(name, `/\`)+1:]
}

// Argv returns the texts of its words. Unknown words are as they are written.
func (c *Command) Argv() []string {
	argv := make([]string, len(c.Words))
	for i, w := range c.Words {
		argv[i] = w.Text
	}
	return argv
}

// String returns the command after quote removal, quoted so that bash would read the same.
func (c *Command) String() string {
	parts := make([]string, 0, len(c.Prefix)+len(c.Words))
	for _, a := range c.Prefix {
		parts = append(parts, a.Name+"="+a.Value.String())
	}
	for _, w := range c.Words {
		parts = append(parts, w.String())
	}
	return strings.Join(parts, " ")
}

// Inner returns the command that c runs with words.
func (c *Command) Inner(words []Word) *Command {
	return &Command{
		Words: words, Place: c.Place, Source: c.Source, Dirs: c.Dirs, By: c, MayRun: c.MayRun, Mark: c.Mark,
		Stdin: c.Input(),
	}
}

// SystemName returns the name of a command, without a directory of the system.
func SystemName(name string) string {
	if dir, base := path.Split(name); dir == "/bin/" || dir == "/usr/bin/" || dir == "/usr/local/bin/" {
		return base
	}
	return name
}

// Queries reports whether c is command -v or -V, which runs nothing.
func Queries(c *Command) bool {
	return len(c.Words) > 1 && (c.Words[1].Text == "-v" || c.Words[1].Text == "-V")
}

// Input returns the text that a command reads; nil if it is unknown. The input of a group is shared by its commands.
func (c *Command) Input() *Word {
	for i, d := range slices.Backward(c.Redirs) {
		if d.Op[0] != '<' || d.Number != "" && d.Number != "0" {
			continue
		}
		if i < c.around || !strings.HasPrefix(d.Op, "<<") {
			return nil
		}
		return &d.Target
	}
	return c.Stdin
}

// Join joins words to a line, like eval.
func Join(words []Word) Word {
	var parts []string
	for _, w := range words {
		if w.Kind != Literal {
			return Word{w.Text, Unknown}
		}
		parts = append(parts, w.Text)
	}
	return Word{strings.Join(parts, " "), Literal}
}

// Marked reports whether the command that runs c replaces a part of a word with an unknown text.
func (c *Command) Marked(w Word) bool {
	return c.Mark != "" && w.Kind == Literal && strings.Contains(w.Text, c.Mark)
}

// Abs returns a path that doesn't depend on the directory dir, and whether name is one, on the system that dir is of: a
// directory that begins with a drive or with // is one of Windows, where programs of Git's bash take C:/x, C:\x and
// /c/x for the same file, and //server/share/x and \\server\share\x for one of another machine. What can't be told
// (C:x, x:stream) is returned as it is, because it can't be resolved.
func Abs(dir, name string) (abs string, ok bool) {
	if !ofWindows(dir) {
		if strings.HasPrefix(name, "//") {
			name = "/" + strings.TrimLeft(name, "/")
		}
		return name, path.IsAbs(name)
	}
	name = strings.ReplaceAll(name, `\`, "/")
	switch {
	case hasDrive(name) && len(name) > 2 && name[2] == '/' && !strings.Contains(name[2:], ":"):
		return strings.ToUpper(name[:1]) + name[1:], true
	case strings.Contains(name, ":"):
		return name, true
	case len(name) > 1 && name[0] == '/' && isLetter(name[1]) && (len(name) == 2 || name[2] == '/'):
		return strings.ToUpper(name[1:2]) + ":/" + strings.TrimLeft(name[2:], "/"), true
	}
	return name, name != "" && name[0] == '/'
}

// Each returns where a path leads from each directory. It cleans nothing: what .. means depends on links.
func Each(dirs []string, path string) (out []string) {
	for _, d := range dirs {
		full, abs := Abs(d, path)
		if !abs {
			full = strings.TrimSuffix(d, "/") + "/" + full
		}
		if !slices.Contains(out, full) {
			out = append(out, full)
		}
	}
	return out
}

// ofWindows reports whether an absolute path with slashes is one of Windows.
func ofWindows(dir string) bool { return hasDrive(dir) || strings.HasPrefix(dir, "//") }

func hasDrive(name string) bool { return len(name) > 1 && name[1] == ':' && isLetter(name[0]) }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
