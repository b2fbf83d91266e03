package bash

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call reads a simple command. The commands in its substitutions and those that it runs are added.
func (r Reader) call(c *syntax.CallExpr, s *syntax.Stmt) outcome {
	cmd := &Command{Source: r.text(s), Stdin: r.stdin, around: len(r.redirs), Redirs: append(slices.Clip(r.redirs), r.redirects(s)...)}
	own := r // a value may depend on those before it
	for _, a := range c.Assigns {
		own.vars = own.vars.with(a.Name.Value, Word{Kind: Unknown})
	}
	for _, a := range c.Assigns {
		cmd.Prefix = append(cmd.Prefix, own.assign(a))
		if own.nested(a); a.Name.Value == "PROMPT_COMMAND" {
			own.Line(cmd, own.word(a.Value), true)
		}
	}
	cmd.Words = make([]Word, 0, len(c.Args))
	bare := r
	bare.vars, bare.Dirs = nil, nil
	for i, w := range c.Args {
		r.nested(w)
		plain, words := bare.words(w), r.words(w)
		if i == 0 {
			words = plain // which program it is isn't left to variables
		}
		cmd.Words, cmd.Valued = append(cmd.Words, words...), cmd.Valued || !slices.Equal(words, plain)
	}
	if r.Add(cmd); r.unwrap != nil {
		r.unwrap(r, cmd)
	}
	return r.moved(cmd)
}

func (r Reader) assign(a *syntax.Assign) Assign {
	out := Assign{Odd: a.Append || a.Naked || a.Index != nil || a.Array != nil || a.Name == nil}
	if a.Name != nil {
		out.Name = a.Name.Value
		if out.Name == "" || !only(out.Name, nameBytes) {
			r.Err = odd("the name of a variable") // to bash it is a command
		}
	}
	out.Value = r.word(a.Value)
	if a.Value != nil && len(a.Value.Parts) == 1 && out.Value.Kind == Unknown {
		if _, ok := a.Value.Parts[0].(*syntax.CmdSubst); ok {
			out.Value.Kind = Printable
		}
	}
	return out
}

// moved returns the directories that the shell may be in after a command.
func (r Reader) moved(c *Command) outcome {
	name, same := c.Base(), outcome{r.Dirs, r.Dirs}
	switch {
	case len(c.Words) == 0:
		if slices.ContainsFunc(c.Prefix, func(a Assign) bool { return moving(a.Name) }) {
			return outcome{}
		}
		return same
	case c.Words[0].Kind == Literal && name != "cd" && !slices.Contains(ChangesShellState, name):
		return same
	case name == "set" && plainSet.MatchString(Join(c.Words[1:]).Text+" "), name == "command" && Queries(c):
		return same
	case name != "cd":
		return outcome{}
	}
	to, next := r.cdTarget(c), []string{}
	if to == "" || r.Dirs == nil {
		return outcome{}
	}
	for _, d := range r.Dirs {
		full := to
		if !path.IsAbs(to) {
			full = d + "/" + to
		}
		// cd resolves .. in the path as it is written; if that doesn't exist, it follows links.
		if next = union(next, []string{path.Clean(full)}); strings.Contains(full+"/", "/../") {
			next = union(next, []string{full})
		}
	}
	return outcome{next, union(next, r.Dirs)}
}

// ChangesShellState are the builtins after which the shell may be in any directory, now or later: they run texts or
// functions in the shell itself, or change the meaning of cd.
var ChangesShellState = strings.Fields("pushd popd builtin command eval . source trap alias enable mapfile readarray shopt set")

// moving reports whether a variable changes the meaning of cd and ~.
func moving(name string) bool {
	return name == "HOME" || name == "CDPATH" || name == "PWD" || name == "OLDPWD"
}

// cdTarget returns the directory that a cd names; "" if it is unknown.
func (r Reader) cdTarget(c *Command) string {
	words := c.Words[1:]
	if len(words) > 0 && (words[0] == (Word{"--", Literal}) || words[0] == (Word{"-L", Literal})) {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return r.options.Home
	case len(words) > 1 || words[0].Kind != Literal || strings.HasPrefix(words[0].Text, "-"):
		return ""
	}
	return words[0].Text
}

// plainSet matches words of set that only make the shell stricter or more verbose.
var plainSet = regexp.MustCompile(`^([-+]([eux]+|[eux]*o (pipefail|errexit|nounset|xtrace)) )+$`)
