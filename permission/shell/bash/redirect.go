package bash

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirects reads the redirections of a statement, and the commands in them. It rejects ambiguous ones.
func (r Reader) redirects(s *syntax.Stmt) (all []Redirect) {
	for _, n := range s.Redirs {
		r.nested(n.Word)
		d := Redirect{Op: n.Op.String(), Target: Word{r.text(n.Word), Unknown}, Dirs: r.Dirs}
		if words := r.words(n.Word); len(words) == 1 {
			d.Target = words[0]
		}
		if n.N != nil {
			if d.Number = n.N.Value; strings.Trim(d.Number, "0123456789") != "" {
				r.note("opens a file descriptor by name", n, false)
			}
		}
		switch n.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			d.Target = r.document(n)
		case syntax.WordHdoc: // a here-string, without brace expansion
			d.Target = r.word(n.Word)
		case syntax.DplIn, syntax.DplOut:
			d.File, d.Write = strings.Trim(d.Target.Text, "0123456789") != "" && d.Target.Text != "-", n.Op == syntax.DplOut
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

// addOpened adds a command for the files that a compound statement opens: [[ … ]] > x writes x although no command in it
// has a redirection, and so does a case without branches.
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
		r.note("has an unusual end of a here-document", n, false)
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
		w := r.word(x)
		if w.Kind == Unknown && !r.build(x).odd { // here it is one word and not an operator, whatever its value
			w.Kind = Printable
		}
		return []Word{w}
	case *syntax.ParenTest:
		return r.testWords(x.X)
	case *syntax.UnaryTest:
		return append([]Word{{x.Op.String(), Literal}}, r.testWords(x.X)...)
	case *syntax.BinaryTest:
		return append(append(r.testWords(x.X), Word{x.Op.String(), Literal}), r.testWords(x.Y)...)
	}
	return []Word{{r.text(x), Unknown}}
}
