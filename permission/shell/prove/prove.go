// Package prove says whether a command is read-only, and which paths it reads.
package prove

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

// Touch is a path that a command would look at or change.
type Touch struct {
	Path    string // absolute and not resolved: links and .. are still in it
	Pattern Pattern
	Use     Use
	Scope   Scope
	Certain Certainty
	Flag    bool // a file that the pattern matches would be a flag if its name begins with a minus, and change what is read
	Inside  bool // it is touched only if its parent is a directory
}

// Pattern says what the stars in a path are.
type Pattern uint8

// The patterns.
const (
	Exact   Pattern = iota // characters
	Glob                   // names of files, as in a shell
	GitGlob                // as in git's pathspecs, where they match slashes and leading dots too
)

// Use is what a command does with a path.
type Use uint8

// The uses.
const (
	Reads  Use = iota
	Names      // it looks at names and attributes, not at contents
	Writes     // it changes or creates it
)

// Scope is what is touched besides a path itself.
type Scope uint8

// The scopes. Only rules on paths apply to those of git's index.
const (
	Itself     Scope = iota
	Below            // all below it
	Linked           // all below it, and what links there lead to
	Tracked          // what git has in its index below it
	Index            // what git has of it, or below it, in its index and its commits
	WholeIndex       // all that git has in its index and its commits
)

// Deep reports whether files below a path are touched.
func (s Scope) Deep() bool { return s == Below || s == Linked || s == Tracked }

// Certainty is how certain it is that a path is touched.
type Certainty uint8

// The certainties.
const (
	Named Certainty = iota // it is named in a word
	Sure                   // it is touched if the command runs
	Vague                  // some unknown files below it are: only rules on paths apply
)

// PatternOf is the pattern that a word of the shell is.
func PatternOf(w bash.Word) Pattern {
	if w.Kind == bash.Glob {
		return Glob
	}
	return Exact
}

// Proof says whether a command is harmless: it changes no file, reaches no network and runs nothing from the workspace.
type Proof struct {
	Why string // why it is not known to be harmless; "": it is
	// Unlisted is the program, with its subcommand, if Why is that it's not on the read-only list.
	Unlisted string
	Touches  []Touch // what it looks at, if it is harmless
	// Git are the directories in which git runs. It is harmless there only if no program is configured in the repository.
	Git []string
	// Open: other files than Touches may be read too, because words expand at run time.
	Open bool
	// Objects: what git keeps of any file may be shown.
	Objects bool
	// Whole: git may show contents from all of its repository, which may begin above the workspace.
	Whole bool

	size int // of the paths
}

// unlisted is the proof of a command that is not on the read-only list.
func unlisted(name string) Proof {
	return Proof{Why: name + " is not on the read-only list", Unlisted: name}
}

// Prove says whether a command is read-only, whatever its paths are: they still have to be judged.
func Prove(c *bash.Command) Proof { return prove(c, false) }

// ProveHeld is Prove for a command that runs where a sandbox enforces that it only reads, and only what it may. There its
// program and its literal flags decide: whatever its other words expand to, nothing is written, reached or disclosed. Literal
// paths are still reported, so that reading a secret or a file elsewhere requires approval.
func ProveHeld(c *bash.Command) Proof {
	p := prove(c, false)
	if p.Why != "" {
		p = prove(c, true)
	}
	return p
}

func prove(c *bash.Command, held bool) Proof {
	if why := surroundings(c, held); why != "" {
		return Proof{Why: why}
	}
	if c.Keyword || len(c.Words) == 0 {
		return proof(c, nil, held)
	}
	if c.Name() == "" {
		return Proof{Why: program.NotLiteral(c.Words[0].Text)}
	}
	name, words := bash.SystemName(c.Name()), c.Words[1:]
	if name == "git" {
		return proveGit(c, words, held)
	}
	p := program.ReadOnly().Find(name, held)
	if p != nil && !p.Raw && len(words) == 1 && words[0].Kind == bash.Literal && (words[0].Text == "--version" || words[0].Text == "--help") {
		return proof(c, nil, held)
	}
	key := name
	if len(words) > 0 && words[0].Kind == bash.Literal {
		if sub := program.ReadOnly().Find(name+" "+words[0].Text, held); sub != nil {
			p, key, words = sub, name+" "+words[0].Text, words[1:]
		}
	}
	if p == nil || p.Variable {
		return unlisted(name)
	}
	a, why := program.ParseArgs(c, key, words, p, held)
	if why != "" {
		return Proof{Why: why}
	}
	return proof(c, touches(a), held)
}

// Commands that run nothing but a command that is judged on its own, and those that do so with arguments that they read.
var (
	harmlessWrappers = []string{"timeout", "nice", "command"}
	harmlessRunners  = []string{"find", "xargs"}
)

// surroundings returns what besides its words keeps a command from being read-only.
func surroundings(c *bash.Command, held bool) string {
	switch {
	case c.Values != nil: // a for, which runs nothing itself
		return ""
	case c.Place == bash.Function:
		return "it is in a function"
	case c.Place == bash.Text, c.AddsArgs && !held:
		return "it is run by " + c.By.Name()
	}
	for by := c.By; by != nil; by = by.By {
		if !by.Keyword && !slices.Contains(harmlessWrappers, by.Name()) && !(held && slices.Contains(harmlessRunners, bash.SystemName(by.Name()))) {
			return "it is run by " + by.Name()
		}
	}
	for _, a := range c.Prefix {
		literal := a.Value.Kind <= bash.Glob && !a.Odd
		setting := bash.Word{Text: a.Name + "=" + a.Value.Text, Kind: a.Value.Kind}
		_, why := program.ParseArgs(c, a.Name, []bash.Word{setting}, program.ReadOnly().Find("NAME=VALUE", held && len(c.Words) > 0), held)
		switch {
		case why == "" && !a.Odd, a.Name == "IFS" && c.Name() == "read" && (literal || held && !a.Odd):
		case len(c.Words) == 0 && (held && program.HeldVar(a.Name) || bash.IsScratchVar(a.Name) && (literal || !a.Odd && a.Value.Kind == bash.Printable)):
		default:
			return "it sets the variable " + a.Name
		}
	}
	for _, d := range c.Redirs {
		switch {
		case strings.Trim(d.Number, "0123456789") != "":
			return "it opens a file descriptor by name"
		case d.Write && d.File:
			return "it writes to " + d.Target.Text
		case d.Target.Kind != bash.Literal && !held:
			return "its redirection expands at run time, so it can't be checked"
		}
	}
	return ""
}
