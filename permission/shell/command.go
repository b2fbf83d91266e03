package shell

import (
	"path"
	"strings"
)

// Place says where in a line a command stands.
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
	Prefix []Assign   // assignments before it; all of it where Words is empty
	Redirs []Redirect // its own, and those of the groups it stands in
	Place  Place
	Source string // as it is written
	// Dirs are the folders it may run in, as the shell would write them: not resolved. nil: not known.
	Dirs []string
	// By is the command that runs this one: env, sudo, bash -c. nil: the shell.
	By *Command
	// AddsArgs: By adds words that are not known, as xargs does.
	AddsArgs bool
	// MayRun: By may run this or not (npx rm, ssh host rm). Deny and ask look at it, allow does not.
	MayRun bool

	mark     string   // what By puts a text that is not known in the place of: {}
	keyword  bool     // time, as the shell itself knows it
	doubtful bool     // it may come to nothing: how a shell other than bash may read a text, an -exec that a word may be
	stdin    *Word    // what a pipe or a wrapper gives it; nil: not known
	around   int      // how many of its redirections are those of groups
	cases    [][]Word // its words with every value of its variables, where these are known
	sure     bool     // the variables have one of these values
	filled   bool     // it is one of these cases
	start    string   // the folder the line starts in

	program string // what base found, once the command stands in a script
	sort    runs   // what runs found then
	globs   []Word // without words: patterns that are looked up
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
	// File: something is opened under the name Target. Write: for writing.
	File, Write bool
	Dirs        []string // where it is opened: not always where the command runs
	cases       [][]Word // Target with every value of its variables, where these are known
}

// Name is the command word, "" where it is not known.
func (c *Command) Name() string {
	if len(c.Words) == 0 || c.Words[0].Kind != Literal {
		return ""
	}
	return c.Words[0].Text
}

// Undetermined reports whether nothing is known of a command, but that it runs: which program it is, or what text it
// runs.
func (c *Command) Undetermined() bool {
	return len(c.Words) > 0 && c.Words[0].Kind != Literal && !c.MayRun && !c.doubtful
}

// base is the name without a folder.
func (c *Command) base() string {
	if c.program != "" {
		return c.program
	}
	name := c.Name()
	if strings.IndexByte(name, '/') < 0 && strings.IndexByte(name, '\\') < 0 {
		return name
	}
	return path.Base(strings.ReplaceAll(name, `\`, "/"))
}

// Argv is the command as it was understood, one element a word. What is not known stands as it is written.
func (c *Command) Argv() []string {
	argv := make([]string, len(c.Words))
	for i, w := range c.Words {
		argv[i] = w.Text
	}
	return argv
}

// String is the command as it was understood, in one line that bash would read the same way.
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

// Literal reports whether every word is known to the byte or is a glob that can only stand for file names.
func (c *Command) Literal() bool {
	for i, w := range c.Words {
		switch w.Kind {
		case Literal:
		case Glob:
			if i == 0 || w.canBeFlag() && !c.ended(i) && !readOnly().safe(c.Name()) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// ended reports whether a "--" stands before word i.
func (c *Command) ended(i int) bool {
	for _, w := range c.Words[1:i] {
		if w.Kind == Literal && w.Text == "--" {
			return true
		}
	}
	return false
}

// inner is a copy of c for the words that it runs.
func (c *Command) inner(words []Word) *Command {
	return &Command{
		Words: words, Place: c.Place, Source: c.Source, Dirs: c.Dirs, By: c, MayRun: c.MayRun, mark: c.mark, stdin: c.input(),
	}
}
