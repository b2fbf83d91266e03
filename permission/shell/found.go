package shell

import (
	"slices"
	"strings"
)

// What find -exec runs is harmless if it is so with every file that find finds: names that begin with a starting point,
// so that none is a flag, below it, and through links. A file whose name may be secret must not be among them, so a
// command that looks into files needs a -name that cannot mean one.

// foundMark stands for a file that was found. As a program of awk, sed or jq it is not harmless, and as a path it is
// known again. In a line in which it is written, no names are found.
const foundMark = "@import@found@"

// runByFind reports whether c stands behind find -exec.
func (c *Command) runByFind() bool {
	return c.AddsArgs && c.By != nil && c.By.By == nil && systemName(c.By.Name()) == "find"
}

// proveFound judges a command behind find -exec.
func (c *Command) proveFound() Proof {
	starts, e := c.By.findExpression()
	below := make([]Touch, len(starts))
	for i, start := range starts {
		below[i] = Touch{Path: start.Text, Glob: start.Kind == Glob, Below: true, Links: true, Only: e.ran()}
	}
	several := c.Words[len(c.Words)-1].Text == "{}" && c.By.endsInPlus(c)
	return c.proveOn(c.Words, "{}", several, below)
}

// proveOn judges a command with words in which a mark stands for a file that was found, or for several.
func (c *Command) proveOn(words []Word, mark string, several bool, below []Touch) Proof {
	if why := c.unfit(); why != "" {
		return Proof{Why: why}
	}
	found := Word{"./" + foundMark, Literal}
	if several { // as many as there are
		found = Word{found.Text + "*", Glob}
	}
	one := *c
	one.Words, one.By, one.AddsArgs, one.program = nil, nil, false, ""
	for i, w := range words {
		switch {
		case w.Kind != Literal || mark != "" && w.Text != mark && strings.Contains(w.Text, mark) || strings.Contains(w.Text, foundMark):
			return Proof{Why: notLiteral(w.Text)}
		case mark != "" && w.Text == mark && i <= 1 && (i == 0 || specs[systemName(c.Name())].operands == program):
			return Proof{Why: "the program of " + c.Name() + " is chosen at run time, so it can't be checked"}
		case mark != "" && w.Text == mark:
			w = found
		}
		one.Words = append(one.Words, w)
	}
	p := one.prove()
	if p.Why != "" {
		return p
	}
	return c.proveBelow(p.Touches, below)
}

// unfit says why a command is not judged with files that were found.
func (c *Command) unfit() string {
	name := systemName(c.Name())
	_, ok := specs[name]
	switch {
	case !ok || c.wraps() || slices.Contains([]string{"find", "git", "tar", "unzip", "zipinfo", "go", "cd", "tac", "xargs", "read"}, name):
		return name + " gets its file names from find or xargs at run time"
	case len(c.Prefix) > 0 || c.Dirs == nil || c.Place == Function || c.Place == Text:
		return "it gets its file names from find or xargs at run time"
	}
	return ""
}

// proveBelow puts the places where files were found into what is touched, for the mark that stands for them.
func (c *Command) proveBelow(touches, below []Touch) Proof {
	lists := slices.Contains([]string{"ls", "dir", "vdir", "tree", "du", "fd", "fdfind"}, systemName(c.Name())) // a link to a folder is the folder to them
	var ts []Touch
	for _, t := range touches {
		if !strings.Contains(t.Path, foundMark) {
			ts = append(ts, t)
			continue
		}
		if before, exact := strings.CutSuffix(strings.TrimSuffix(t.Path, "*"), "/./"+foundMark); !exact || strings.Contains(before, foundMark) {
			return Proof{Why: "a path contains the name of a file that find or xargs provides"}
		}
		for _, b := range below {
			b.Names, b.Links = t.Names, b.Links && (!t.Names || lists)
			if t.Below { // a folder that was found is gone through, whatever the names below it
				b.Tracked = false
			}
			if !slices.Contains(ts, b) {
				ts = append(ts, b)
			}
		}
	}
	return c.proved(ts)
}

// endsInPlus reports whether find gives an inner command as many files at once as there are.
func (c *Command) endsInPlus(inner *Command) bool {
	for i := range c.Words {
		if i > 0 && c.Words[i].Text == "+" && c.Words[i-1].Text == "{}" && i >= len(inner.Words) {
			return true
		}
	}
	return false
}
