package bash

import (
	"path"
	"slices"
	"strings"
)

// moved is where the shell stands after a command.
func (r *Reader) moved(c *Command) outcome {
	name := c.Base()
	switch {
	case len(c.Words) == 0:
		if slices.ContainsFunc(c.Prefix, func(a Assign) bool { return moving(a.Name) }) {
			return outcome{}
		}
		return outcome{r.Dirs, r.Dirs}
	case name == "set" && SetsPlainly(c.Words[1:]):
		return outcome{r.Dirs, r.Dirs}
	case c.Words[0].Kind != Literal || slices.Contains(ChangesShellState, name):
		if name == "command" && (Queries(c) || commandRuns(c)) {
			return outcome{r.Dirs, r.Dirs} // command -v, command ls
		}
		return outcome{}
	case name != "cd":
		return outcome{r.Dirs, r.Dirs}
	}
	to, ok := cdTarget(c)
	if !ok || r.Dirs == nil {
		return outcome{nil, r.Dirs}
	}
	if to == "" {
		if r.options.Home == "" {
			return outcome{nil, r.Dirs}
		}
		to = r.options.Home
	}
	var next []string
	named := func(c string) bool { return c != "" && c != "." && c != ".." }
	up := !slices.ContainsFunc(strings.Split(to, "/"), named) // what is above is there
	for _, d := range r.Dirs {
		full := to
		if !path.IsAbs(to) {
			full = d + "/" + to
		}
		// cd goes by the names it went through; where that leads nowhere, it goes through the links.
		next = append(next, path.Clean(full))
		if strings.Contains(full+"/", "/../") && !(up && path.Clean(d) == d) {
			next = append(next, full)
		}
	}
	return outcome{union([]string{}, next), r.Dirs}
}

// commandRuns reports whether command runs something that does not move the shell.
func commandRuns(c *Command) bool {
	rest := c.Words[1:]
	if len(rest) > 0 && rest[0].Kind == Literal && rest[0].Text == "--" {
		rest = rest[1:]
	}
	return len(rest) > 0 && rest[0].Kind == Literal && !strings.HasPrefix(rest[0].Text, "-") && rest[0].Text != "cd" && !slices.Contains(ChangesShellState, rest[0].Text)
}

// moving reports whether a variable says where cd and ~ lead.
func moving(name string) bool {
	return name == "HOME" || name == "CDPATH" || name == "PWD" || name == "OLDPWD"
}

// cdTarget is where a cd leads; "" is the home.
func cdTarget(c *Command) (to string, ok bool) {
	words := c.Words[1:]
	if len(words) > 0 && words[0].Kind == Literal && (words[0].Text == "--" || words[0].Text == "-L") {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return "", true
	case len(words) > 1 || words[0].Kind != Literal || strings.HasPrefix(words[0].Text, "-") || words[0].Text == "":
		return "", false
	}
	return words[0].Text, true
}

// SetsPlainly reports whether the words of set are such.
func SetsPlainly(words []Word) bool {
	for i := 0; i < len(words); i++ {
		s := words[i].Text
		if words[i].Kind != Literal || len(s) < 2 || s[0] != '-' && s[0] != '+' || strings.Trim(s[1:], "euxo") != "" {
			return false
		}
		for range strings.Count(s, "o") {
			if i++; i == len(words) || words[i].Kind != Literal || !slices.Contains([]string{"pipefail", "errexit", "nounset", "xtrace"}, words[i].Text) {
				return false
			}
		}
	}
	return len(words) > 0
}
