package bash

import (
	"slices"
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

	Mark     string // what By puts a text that is not known in the place of: {}
	Keyword  bool   // time, as the shell itself knows it
	Doubtful bool   // it may come to nothing: how a shell other than bash may read a text, an -exec that a word may be
	Stdin    *Word  // what a pipe or a wrapper gives it; nil: not known
	around   int    // how many of its redirections are those of groups
	IsCase   bool   // it is a command before it with values in the place of variables, which may have them
	Start    string // the folder the line starts in

	Globs []Word // without words: patterns that are looked up
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
	return len(c.Words) > 0 && c.Words[0].Kind != Literal && !c.MayRun && !c.Doubtful
}

// Base is the name without a directory.
func (c *Command) Base() string {
	name := c.Name()
	return name[strings.LastIndexAny(name, `/\`)+1:]
}

// Argv is the text of its words. What is not known is as it is written.
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

// Inner is a copy of c for the words that it runs.
func (c *Command) Inner(words []Word) *Command {
	return &Command{
		Words: words, Place: c.Place, Source: c.Source, Dirs: c.Dirs, By: c, MayRun: c.MayRun, Mark: c.Mark, Stdin: c.Input(),
	}
}

// SystemName is the name of a command, without the folder where that is the system's own.
func SystemName(name string) string {
	for _, dir := range []string{"/bin/", "/usr/bin/", "/usr/local/bin/"} {
		if base, ok := strings.CutPrefix(name, dir); ok && !strings.Contains(base, "/") {
			return base
		}
	}
	return name
}

// Queries reports whether command is asked about a name rather than to run it.
func Queries(c *Command) bool {
	return len(c.Words) > 1 && (c.Words[1].Text == "-v" || c.Words[1].Text == "-V")
}

// Input is the text that a command reads; nil if that is not known. What a group is given, its commands share.
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

// Join makes one line of words, as eval does.
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

// Filled reports whether the same command follows in the script with every value that its variables may have.
func (c *Command) Filled() bool {
	return slices.ContainsFunc(c.Words, func(w Word) bool { return w.Kind == Filled }) ||
		slices.ContainsFunc(c.Redirs, func(d Redirect) bool { return d.Target.Kind == Filled })
}

// Marked reports whether what runs c puts a text that is not known into a word.
func (c *Command) Marked(w Word) bool {
	return c.Mark != "" && w.Kind == Literal && strings.Contains(w.Text, c.Mark)
}
