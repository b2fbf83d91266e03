package bash

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/adze-dev/adze/internal/engine/lazy"
)

// call reads a simple command. The commands in its substitutions and those that it runs are added.
func (r Reader) call(c *syntax.CallExpr, s *syntax.Stmt) outcome {
	cmd := &Command{
		Source: r.text(s), Stdin: r.stdin, around: len(r.redirs),
		Redirs: append(slices.Clip(r.redirs), r.redirects(s)...),
	}
	for _, a := range c.Assigns {
		cmd.Prefix = append(cmd.Prefix, r.assign(a))
		if r.nested(a); a.Name.Value == "PROMPT_COMMAND" {
			r.Line(cmd, r.word(a.Value), true)
		}
	}
	cmd.Words = make([]Word, 0, len(c.Args))
	for _, w := range c.Args {
		r.nested(w)
		cmd.Words = append(cmd.Words, r.word(w))
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
	return out
}

// moved returns the directories that the shell may be in after a command.
func (r Reader) moved(c *Command) outcome {
	name, same := c.Base(), outcome{r.Dirs, r.Dirs}
	switch {
	case len(c.Words) == 0 && slices.ContainsFunc(c.Prefix, func(a Assign) bool { return moving(a.Name) }):
		return outcome{}
	case len(c.Words) == 0, c.Words[0].Kind == Literal && name != "cd" && !slices.Contains(ChangesShellState, name):
		return same
	case name == "set" && plainSet().MatchString(Join(c.Words[1:]).Text+" "), name == "command" && Queries(c):
		return same
	case name != "cd":
		return outcome{}
	}
	to, next := r.cdTarget(c), []string{}
	if to == "" || r.Dirs == nil {
		return outcome{}
	}
	for _, full := range Each(r.Dirs, to) {
		// cd resolves .. in the path as it is written; if that doesn't exist, it follows links.
		if next = union(next, []string{path.Clean(full)}); strings.Contains(full+"/", "/../") {
			next = union(next, []string{full})
		}
	}
	return outcome{next, union(next, r.Dirs)}
}

// ChangesShellState are the builtins after which the shell may be in any directory, now or later: they run texts or
// functions in the shell itself, or change the meaning of cd.
var ChangesShellState = strings.Fields("pushd popd builtin command eval . source trap alias enable mapfile " +
	"readarray shopt set")

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
var plainSet = lazy.Regexp(`^([-+]([eux]+|[eux]*o (pipefail|errexit|nounset|xtrace)) )+$`)

// redirects reads the redirections of a statement, and the commands in them. It rejects ambiguous ones.
func (r Reader) redirects(s *syntax.Stmt) (all []Redirect) {
	for _, n := range s.Redirs {
		r.nested(n.Word)
		d := Redirect{Op: n.Op.String(), Target: r.word(n.Word), Dirs: r.Dirs}
		if n.N != nil {
			if d.Number = n.N.Value; strings.Trim(d.Number, "0123456789") != "" {
				r.note("opens a file descriptor by name", n)
			}
		}
		switch n.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			d.Target = r.document(n)
		case syntax.WordHdoc:
		case syntax.DplIn, syntax.DplOut:
			d.File, d.Write = strings.Trim(d.Target.Text, "0123456789") != "" && d.Target.Text != "-",
				n.Op == syntax.DplOut
			if source := r.text(n.Word); !only(source, plainBytes) || len(source) > 1 && source[0] == '-' {
				r.Err = odd("the word after " + d.Op) // bash expands it twice: >&'$(x)' runs x; and ends >&-x at the -
			}
		default:
			d.File, d.Write = true, n.Op != syntax.RdrIn
		}
		if d.Target == (Word{"/dev/null", Literal}) {
			d.File, d.Write = false, false
		}
		all = append(all, d)
	}
	return all
}

// addOpened adds a command for the files that a compound statement opens: [[ … ]] > x writes x although no command in
// it has a redirection, and so does a case without branches.
func (r Reader) addOpened(s *syntax.Stmt, own []Redirect) {
	if s.Cmd != nil && !slices.ContainsFunc(own, func(d Redirect) bool { return d.File || d.Target.Kind != Literal }) {
		return
	}
	r.Add(&Command{Source: r.text(s), Redirs: own})
}

// document reads the text of a here-document. It is expanded unless the delimiter is quoted.
func (r Reader) document(n *syntax.Redirect) Word {
	delimiter := r.word(n.Word)
	if n.Hdoc != nil {
		r.nested(n.Hdoc)
		r.checkDocument(n.Hdoc, delimiter.Text, n.Word.Lit() == "")
	}
	if delimiter.Kind != Literal || !only(delimiter.Text, nameBytes) { // bash and the parser may not agree on its end
		r.note("has an unusual end of a here-document", n)
		return Word{r.text(n.Word), Unknown}
	}
	var b strings.Builder
	for i := 0; n.Hdoc != nil && i < len(n.Hdoc.Parts); i++ {
		lit, ok := n.Hdoc.Parts[i].(*syntax.Lit)
		if !ok || n.Word.Lit() != "" && strings.ContainsAny(lit.Value, "\\`$") {
			return Word{r.text(n.Hdoc), Unknown}
		}
		b.WriteString(lit.Value)
	}
	return Word{b.String(), Literal}
}

// test reads [[ … ]].
func (r Reader) test(c *syntax.TestClause) {
	r.nested(c)
	words := append([]Word{{"[[", Literal}}, r.testWords(c.X)...)
	r.Add(&Command{Source: r.text(c), Words: append(words, Word{"]]", Literal})})
}

func (r Reader) testWords(x syntax.TestExpr) []Word {
	switch x := x.(type) {
	case *syntax.Word:
		return []Word{r.word(x)}
	case *syntax.ParenTest:
		return r.testWords(x.X)
	case *syntax.UnaryTest:
		return append([]Word{{x.Op.String(), Literal}}, r.testWords(x.X)...)
	case *syntax.BinaryTest:
		return append(append(r.testWords(x.X), Word{x.Op.String(), Literal}), r.testWords(x.Y)...)
	}
	return []Word{{r.text(x), Unknown}}
}
