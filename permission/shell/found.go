package shell

import (
	"slices"
	"strings"
)

// What find -exec runs is harmless if it is so with every file that find finds: names that begin with a starting point,
// so that none is a flag, below it, and through links. A file whose name may be secret must not be among them, so a
// command that looks into files needs a -name that cannot mean one.

// foundMark stands for a file that was found. As a program of awk, sed or jq it is not harmless, and as a path it is
// known again.
const foundMark = "@ import found@"

// runByFind reports whether c stands behind find -exec.
func (c *Command) runByFind() bool {
	return c.Extra && c.By != nil && c.By.By == nil && systemName(c.By.Name()) == "find"
}

// proveFound judges a command behind find -exec.
func (c *Command) proveFound() Proof {
	name := systemName(c.Name())
	s, ok := specs[name]
	switch {
	case !ok || c.wraps() || slices.Contains([]string{"find", "git", "tar", "unzip", "zipinfo", "go", "cd", "tac"}, name):
		return Proof{Why: name + " is not known to be harmless behind find"}
	case c.Place != Plain || len(c.Prefix) > 0 || c.Dirs == nil:
		return Proof{Why: "it is run by find"}
	}
	starts, only := c.By.findStarts()
	several := c.Words[len(c.Words)-1].Text == "{}" && c.By.endsInPlus(c)
	one := *c
	one.Words, one.By, one.Extra, one.program = nil, nil, false, ""
	for i, w := range c.Words {
		switch {
		case w.Sort != Literal:
			return Proof{Why: "the word " + w.Text + " is not literal"}
		case w.Text == "{}" && s.operands == program && i == 1:
			return Proof{Why: "the program of " + name + " is not known"}
		case w.Text == "{}":
			w = Word{"./" + foundMark, Literal}
			if several { // as many as there are
				w = Word{"./" + foundMark + "*", Glob}
			}
		case strings.Contains(w.Text, "{}"):
			return Proof{Why: "the word " + w.Text + " is not literal"}
		}
		one.Words = append(one.Words, w)
	}
	p := one.Prove()
	if p.Why != "" {
		return p
	}
	lists := slices.Contains([]string{"ls", "dir", "vdir", "tree", "du", "fd", "fdfind"}, name) // a link to a folder is the folder to them
	var ts []Touch
	for _, t := range p.Touches {
		if !strings.Contains(t.Path, foundMark) {
			ts = append(ts, t)
			continue
		}
		for _, start := range starts {
			ts = append(ts, Touch{Path: start.Text, Glob: start.Sort == Glob, Below: true, Links: !t.Names || lists, Names: t.Names, Only: only})
		}
	}
	return c.proved(ts)
}

// findStarts are the folders that find starts in, and the pattern that every name it finds has: "*" if there is none.
func (c *Command) findStarts() (starts []Word, only string) {
	words := c.Words[1:]
	for len(words) > 0 && (words[0].Text == "-H" || words[0].Text == "-P") {
		words = words[1:]
	}
	for len(words) > 0 && !isFindTest(words[0].Text) {
		starts = append(starts, words[0])
		words = words[1:]
	}
	if len(starts) == 0 {
		starts = []Word{{".", Literal}}
	}
	only = "*"
	ran := false
	for i := 0; i < len(words); i++ {
		switch words[i].Text {
		case "-exec": // a name behind it does not hold for it, an operator does
			i, ran = execEnd(words, i), true
			continue
		case "-o", "-or", "!", "-not", "(", ")", ",":
			return starts, "*" // a pattern need not hold then
		case "-name", "-iname":
			if !ran && i+1 < len(words) {
				only = words[i+1].Text
			}
		}
		i += findValues(words[i].Text)
	}
	return starts, only
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
