package shell

import (
	"slices"
	"strings"
)

// Touch is a path that a command would look at or change.
type Touch struct {
	// Path is absolute and not resolved: links and .. are still in it. Where Glob is set it is a pattern.
	Path  string
	Glob  bool
	Write bool
	Below bool // and all below it
	Names bool // only names and attributes are looked at, not contents
	Links bool // links below it are followed
	Sure  bool // it is looked at or changed for sure, not only named in a word
	Spec  bool // the pattern is git's: its stars stand for slashes and leading dots too
	Top   bool // git counts it from the top of the repository
	// Tracked, with Below: what git has in its index is looked at and nothing else.
	Tracked bool
	Flag    bool // a name that the pattern stands for would be a flag with a minus in front, and change what is read
	// InFolder: only if what it lies in is a folder.
	InFolder bool
	Vague    bool // something below it, nobody knows what: of interest to rules on paths alone
	// Index: what git has in its index at or below it is read, with Top all of it, and of interest to rules on paths alone.
	Index bool
}

// Proof says whether a command is harmless: it changes no file, reaches no network and runs nothing from the workspace.
type Proof struct {
	Why string // why it is not known to be harmless; "": it is
	// Unlisted is the program, with its subcommand, if Why is that it's not on the read-only list.
	Unlisted string
	Touches  []Touch // what it looks at, if it is harmless
	// Git are the folders in which git runs. It is harmless there only if no program is configured in the repository.
	Git []string
	// Unless are files with which it would do something else: run a program that the folder chooses, for one.
	Unless []string
	// Open: other files than Touches may be read too, because words expand at run time.
	Open bool
	// Objects: what git keeps of any file may be shown.
	Objects bool
	// Trees are what git shows of a whole repository, which may begin above the workspace.
	Trees []Tree

	size int // of the paths
}

// Tree is something that git shows, counted from the top of the repository around a folder.
type Tree struct {
	Dir   string
	Touch Touch
	// Unless is a path that limits what is shown to itself, if it is there; "": nothing does.
	Unless string
}

// unlisted is the proof of a command that is not on the read-only list.
func unlisted(name string) Proof {
	return Proof{Why: name + " is not on the read-only list", Unlisted: name}
}

// Prove says whether a command is read-only, whatever its paths are: they still have to be judged.
func (c *Command) Prove() Proof { return c.prove(false) }

// ProveHeld is Prove for a command that runs where a sandbox enforces that it only reads, and only what it may. There its
// program and its literal flags decide: whatever its other words come to, nothing is written, reached or disclosed. Literal
// paths are still reported, so that the user is asked before a secret or a file elsewhere is read.
func (c *Command) ProveHeld() Proof {
	p := c.prove(false)
	if p.Why != "" {
		p = c.prove(true)
	}
	p.Unless, p.Trees = nil, nil // files outside the workspace can't be read, and git's objects aren't hidden
	return p
}

func (c *Command) prove(held bool) Proof {
	if why := c.surroundings(held); why != "" {
		return Proof{Why: why}
	}
	if len(c.cases) > 0 && (c.sure || held) && !c.wraps() { // what a wrapper runs is read from its words as they stand
		return c.proveCases(held)
	}
	if c.keyword || len(c.Words) == 0 || c.wrapsOnly() || held && (c.wrapsLine() || c.guessedByFind()) {
		return c.proof(nil, held)
	}
	if c.Name() == "" {
		return Proof{Why: notLiteral(c.Words[0].Text)}
	}
	name, words := systemName(c.Name()), c.Words[1:]
	if held {
		words = c.heldWords(name)
	}
	if name == "git" {
		return c.proveGit(words, held)
	}
	p := readOnly().find(name, held)
	if p != nil && !p.raw && len(words) == 1 && words[0].Kind == Literal && (words[0].Text == "--version" || words[0].Text == "--help") {
		return c.proof(nil, held)
	}
	key := name
	if len(words) > 0 && words[0].Kind == Literal {
		if sub := readOnly().find(name+" "+words[0].Text, held); sub != nil {
			p, key, words = sub, name+" "+words[0].Text, words[1:]
		}
	}
	if p == nil {
		return unlisted(name)
	}
	a, why := parseArgs(c, words, p, held)
	if why == "" {
		why = a.check(key)
	}
	if why != "" && key == name && held && readOnly().subcommands[name] && len(words) > 0 && words[0].Kind == Literal {
		return unlisted(name + " " + words[0].Text)
	}
	if why != "" && p.enforced && p.exact && p.operands == noOperands {
		return unlisted(name)
	}
	if why != "" {
		return Proof{Why: why}
	}
	return c.proof(a.touches(), held)
}

// proveCases judges a command with every value of its variables.
func (c *Command) proveCases(held bool) Proof {
	var all Proof
	for _, words := range c.cases {
		one := *c
		one.Words, one.cases, one.filled, one.program = words, nil, true, ""
		p := one.prove(held)
		if p.Why != "" {
			return p
		}
		all.Open, all.Objects = all.Open || p.Open, all.Objects || p.Objects
		all.Touches, all.Git = append(all.Touches, p.Touches...), append(all.Git, p.Git...)
		all.Unless, all.Trees = append(all.Unless, p.Unless...), append(all.Trees, p.Trees...)
	}
	return all
}

// heldWords are the words of a command without what is judged on its own: those in which what runs it puts a text are
// unknown, and what find runs is left out.
func (c *Command) heldWords(name string) []Word {
	words := slices.Clone(c.Words[1:])
	for i, w := range words {
		if c.marked(w) {
			words[i].Kind = Unknown
		}
	}
	for i := 0; i < len(words) && name == "find"; i++ {
		if words[i].Text != "-exec" && words[i].Text != "-execdir" {
			continue
		}
		if end := execEnd(words, i); end < len(words) && end > i+1 {
			words = slices.Delete(words, i, end+1)
			i--
		}
	}
	return words
}

// harmlessWrappers run a command and do nothing else.
var harmlessWrappers = []string{"timeout", "nice", "command"}

// wrapsOnly reports whether c is such a wrapper, with a command that is judged on its own.
func (c *Command) wrapsOnly() bool {
	if !slices.Contains(harmlessWrappers, c.Name()) || queries(c) {
		return false
	}
	w := wrapperOf(c.Name())
	rest, unsure := skipOptions(c, w)
	if unsure || len(rest) <= w.operands {
		return false
	}
	for _, word := range c.Words[:len(c.Words)-len(rest)+w.operands+1] {
		if word.Kind != Literal {
			return false
		}
	}
	return true
}

// surroundings says what around the words keeps a command from being read-only.
func (c *Command) surroundings(held bool) string {
	switch {
	case c.Place == Function:
		return "it is in a function"
	case held && c.By != nil && !c.By.runsJudged(), !held && (c.Place == Text || c.AddsArgs || c.By != nil && !c.By.keyword && !slices.Contains(harmlessWrappers, c.By.Name())):
		return "it is run by " + c.By.Name()
	}
	for _, a := range c.Prefix {
		literal := a.Value.Kind <= Glob && !a.Odd
		switch {
		case harmlessAssign(a), a.Name == "IFS" && c.Name() == "read" && (literal || held && !a.Odd):
		case len(c.Words) == 0 && (held && heldVar(a.Name) || isScratchVar(a.Name) && literal):
		case held && len(c.Words) > 0 && !a.Odd && slices.Contains([]string{"GOOS", "GOARCH", "CGO_ENABLED", "NODE_ENV", "PYTHONDONTWRITEBYTECODE"}, a.Name):
		case len(c.Words) == 0 && isScratchVar(a.Name):
			return "it sets the variable " + a.Name + " to an unknown value"
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
		case d.Target.Kind != Literal && !held:
			return "its redirection expands at run time, so it can't be checked"
		}
	}
	return ""
}

// runsJudged reports whether c runs nothing but what is judged as a command of its own.
func (c *Command) runsJudged() bool {
	name := systemName(c.Name())
	return c.keyword || slices.Contains(harmlessWrappers, c.Name()) || name == "find" || name == "xargs" || c.wrapsLine()
}

// wrapsLine reports whether c is bash -c with a literal line, whose commands are judged on their own.
func (c *Command) wrapsLine() bool {
	name := systemName(c.Name())
	return (name == "bash" || name == "sh") && len(c.Words) > 2 && c.Words[1] == Word{"-c", Literal} && c.Words[2].Kind == Literal && !c.marked(c.Words[2])
}

// guessedByFind reports whether c is a word of find that might be an -exec, but isn't what one runs.
func (c *Command) guessedByFind() bool {
	if !c.AddsArgs || c.By == nil || systemName(c.By.Name()) != "find" || len(c.Words) != 1 || c.Words[0].Kind == Literal {
		return false
	}
	for i, w := range c.By.Words[1:] {
		if w.Text == c.Words[0].Text && (strings.HasPrefix(c.By.Words[i].Text, "-exec") || strings.HasPrefix(c.By.Words[i].Text, "-ok")) {
			return false
		}
	}
	return true
}

// harmlessAssign reports whether an assignment before a command changes nothing but its language, its clock's zone or
// its colours.
func harmlessAssign(a Assign) bool {
	if a.Odd || a.Value.Kind != Literal {
		return false
	}
	v := a.Value.Text
	switch a.Name {
	case "LC_ALL", "LANG", "LC_COLLATE", "LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LC_MESSAGES":
		return plainLocale(v)
	case "TZ":
		return plainZone(v)
	case "GIT_OPTIONAL_LOCKS":
		return v == "0"
	case "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "COLUMNS":
		return strings.Trim(v, "0123456789truefals") == ""
	case "GIT_PAGER", "PAGER":
		return v == "cat" || v == ""
	}
	return false
}
