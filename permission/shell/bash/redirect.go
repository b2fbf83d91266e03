package bash

import (
	"bytes"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirects reads the redirections of a statement, after those around it.
func (r *Reader) redirects(s *syntax.Stmt, around []Redirect) []Redirect {
	if len(s.Redirs) == 0 {
		return around
	}
	all := slices.Clip(around)
	for _, n := range s.Redirs {
		d := Redirect{Op: n.Op.String(), Target: r.oneWord(n.Word), Dirs: r.Dirs}
		r.nested(n.Word)
		if n.N != nil {
			d.Number = n.N.Value
			if strings.Trim(d.Number, "0123456789") != "" {
				r.note("opens a file descriptor by name", n)
			}
		}
		switch n.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if n.Hdoc != nil {
				r.nested(n.Hdoc)
			}
			d.Target = r.document(n)
		case syntax.WordHdoc: // a here-string, in which no braces are expanded
			d.Target = r.word(n.Word)
		case syntax.DplIn, syntax.DplOut:
			d.File = !isNumber(d.Target)
			if d.File && !Only(r.text(n.Word), &PlainSet) || len(d.Target.Text) > 1 && d.Target.Text[0] == '-' {
				r.Err = odd("the word after " + d.Op) // bash expands it twice: >&'$(x)' runs x; and ends >&-x at the -
			}
			d.Write = n.Op == syntax.DplOut
		default:
			d.File = true
			d.Write = n.Op != syntax.RdrIn
			d.Cases, _ = r.filled(n.Word)
		}
		if d.File && d.Target.Kind == Literal && d.Target.Text == "/dev/null" {
			d.File, d.Write = false, false
		}
		all = append(all, d)
	}
	return all
}

// opened adds the files that a compound statement opens as a command of their own: [[ … ]] > x writes x although no
// command within has a redirection, and so does a case without branches.
func (r *Reader) opened(s *syntax.Stmt, redirs []Redirect) {
	if _, simple := s.Cmd.(*syntax.CallExpr); simple {
		return
	}
	own := redirs[len(redirs)-len(s.Redirs):]
	if slices.ContainsFunc(own, func(d Redirect) bool { return d.File || d.Target.Kind != Literal }) {
		r.Add(&Command{Source: r.text(s), Redirs: own})
	}
}

// isNumber reports whether the target of >& or <& is a number or the - that closes.
func isNumber(w Word) bool {
	return w.Kind == Literal && (w.Text == "-" || w.Text != "" && strings.Trim(w.Text, "0123456789") == "")
}

// document reads the text of a here-document. Where the delimiter is not quoted a backslash or a $ in it means more
// than itself; where the delimiter is odd, bash and we might not agree where the text ends.
func (r *Reader) document(n *syntax.Redirect) Word {
	delimiter, quoted := r.word(n.Word), n.Word.Lit() == ""
	if n.Hdoc != nil && delimiter.Kind == Literal {
		if r.endsInside(n.Hdoc, delimiter.Text) || !quoted && endsElsewhere(r.source, n.Hdoc, delimiter.Text) {
			r.Err = odd("the end of a here-document")
		}
	}
	if delimiter.Kind != Literal || strings.Trim(delimiter.Text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		r.note("has an unusual end of a here-document", n)
		return Word{r.text(n.Word), Unknown}
	}
	if n.Hdoc == nil {
		return Word{"", Literal}
	}
	var b strings.Builder
	for _, p := range n.Hdoc.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok || !quoted && strings.ContainsAny(lit.Value, "\\`$") {
			return Word{r.text(n.Hdoc), Unknown}
		}
		b.WriteString(lit.Value)
	}
	return Word{b.String(), Literal}
}

// endsInside reports whether a line of a here-document holds a bracket behind its delimiter: in $(…) bash ends both there.
func (r *Reader) endsInside(doc *syntax.Word, delimiter string) bool {
	for line := range strings.SplitSeq(r.text(doc), "\n") {
		rest, ok := strings.CutPrefix(strings.TrimLeft(line, "\t"), delimiter)
		if ok && strings.ContainsAny(rest, ")`") {
			return true
		}
	}
	return false
}

// endsElsewhere reports whether bash ends a here-document at another line than the parser: it looks for the delimiter
// after it has joined lines that end in a backslash.
func endsElsewhere(source string, doc *syntax.Word, delimiter string) bool {
	from, to := int(doc.Pos().Offset()), int(doc.End().Offset())
	for from > 1 && source[from-2:from] == "\\\n" {
		from -= 2 // the parser leaves out what comes to nothing
	}
	if to > len(source) || !strings.Contains(source[from:to], "\\\n") {
		return false
	}
	var line []byte
	for i := from; i < len(source); i++ {
		switch rest := source[i:]; {
		case strings.HasPrefix(rest, "\\\n"):
			i++
		case rest[0] == '\\' && len(rest) > 1:
			line = append(line, rest[:2]...)
			i++
		case rest[0] == '\n' && string(bytes.TrimLeft(line, "\t")) == delimiter:
			return i != to
		case rest[0] == '\n':
			line = line[:0]
		default:
			line = append(line, rest[0])
		}
	}
	return to < len(source)
}

// test reads [[ … ]]. Only what looks at files by name or compares texts passes: a number is calculated, and
// calculating may run commands.
func (r *Reader) test(c *syntax.TestClause) {
	r.nested(c)
	cmd := &Command{Source: r.text(c), Words: []Word{{"[[", Literal}}}
	if !r.testExpr(cmd, c.X) {
		r.noteHeld("has a test that may run commands", c)
	}
	cmd.Words = append(cmd.Words, Word{"]]", Literal})
	r.Add(cmd)
}

func (r *Reader) testExpr(cmd *Command, x syntax.TestExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		w := r.word(x)
		if w.Kind == Unknown && oneText(x.Parts) { // whatever its value, it is one word and no operator here
			w.Kind = PublicVar
		}
		cmd.Words = append(cmd.Words, w)
		return w.Kind != Unknown
	case *syntax.ParenTest:
		return r.testExpr(cmd, x.X)
	case *syntax.UnaryTest:
		op := x.Op.String()
		cmd.Words = append(cmd.Words, Word{op, Literal})
		return r.testExpr(cmd, x.X) && (op == "!" || strings.Contains(" -e -f -d -s -r -w -x -L -h -z -n ", " "+op+" "))
	case *syntax.BinaryTest:
		ok := r.testExpr(cmd, x.X)
		op := x.Op.String()
		cmd.Words = append(cmd.Words, Word{op, Literal})
		return r.testExpr(cmd, x.Y) && ok && strings.Contains(" && || = == != < > -nt -ot -ef ", " "+op+" ")
	}
	return false
}
