package bash

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A variable whose values all stand in the line is filled in, for the proof alone: to rules, a word with a variable stays
// unknown. Every value that a name is given anywhere in the line counts everywhere. That it has one of them is sure in the
// body of a loop that sets it, and behind an assignment in the outermost list.

// maxCases is how many ways to fill in a command are tried.
const maxCases = 64

// scratchNames are names in capitals that mean nothing to the shell, and that commands without approval don't inherit.
var scratchNames = strings.Fields("FILE FILES DIR DIRS F D X Y N I A B C NAME NAMES PATTERN SRC FOO BAR BRANCH BASE COMMIT SHA TAG VERSION COUNT TOTAL NUM " +
	"ROOT TARGET DEST OUT INPUT START END KEY VALUE RESULT STATUS EXT PKG MODULE PROJECT REPO TEXT LINE MSG LOG FILENAME ITEM URL PORT")

// IsScratchVar reports whether a name means nothing to any program.
func IsScratchVar(name string) bool {
	if slices.Contains(scratchNames, name) {
		return true
	}
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" && !strings.Contains(name, "proxy") &&
		!strings.HasPrefix(name, "npm_") && name != "histchars" && name != "auto_resume" && name[0] != '_'
}

// variables are the values that the variables of a line are given, by name. One of unknown kind stands for any.
type variables map[string][]Word

// scan collects the values that names are given in a line. It finds nothing if there is anything in the line that may set
// a variable in a way that isn't read.
func (r *Reader) scan(file *syntax.File) variables {
	v := variables{}
	give := func(name string, words ...Word) {
		for _, w := range words {
			if w.Kind > Glob || !IsScratchVar(name) {
				w = Word{Kind: Unknown}
			}
			if !slices.Contains(v[name], w) {
				v[name] = append(v[name], w)
			}
		}
	}
	lost := false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.DeclClause, *syntax.FuncDecl, *syntax.CoprocClause, *syntax.CStyleLoop:
			lost = true
		case *syntax.BinaryTest: // [[ x=1 -eq 1 ]] calculates
			lost = lost || calculates(n)
		case *syntax.UnaryTest: // and so does the index of a name
			lost = lost || n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar
		case *syntax.Redirect: // {x}< file
			lost = lost || n.N != nil && strings.HasPrefix(n.N.Value, "{")
		case *syntax.ParamExp:
			lost = lost || n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull)
		case *syntax.CallExpr:
			for _, name := range readNames(n) {
				give(name, Word{Kind: Unknown})
			}
			lost = lost || assigns(n)
		case *syntax.Assign:
			if n.Name != nil {
				a := r.assign(n)
				switch {
				case a.Odd:
					a.Value.Kind = Unknown
				case a.Value.Kind == Glob: // nothing is looked up in an assignment
					a.Value = Word{Unescaped(a.Value.Text), Literal}
				}
				give(a.Name, a.Value)
			}
		case *syntax.ForClause:
			if loop, ok := n.Loop.(*syntax.WordIter); ok && loop.Name != nil {
				if n.Select || !loop.InPos.IsValid() { // without in, it is what the line was called with
					give(loop.Name.Value, Word{Kind: Unknown})
				}
				for _, w := range loop.Items {
					give(loop.Name.Value, r.words(w)...)
				}
			}
		}
		return !lost
	})
	_, splits := v["IFS"]
	if _, moves := v["PWD"]; lost || splits || moves {
		return nil
	}
	return v
}

// calculates reports whether a test takes its words for numbers.
func calculates(n *syntax.BinaryTest) bool {
	return slices.Contains([]string{"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}, n.Op.String())
}

// readNames are the variables of read -r NAME…; nil if a command is not that.
func readNames(c *syntax.CallExpr) (names []string) {
	for i, w := range c.Args {
		text, plain := plainLiteral(w)
		switch {
		case !plain || i == 0 && text != "read":
			return nil
		case i > 0 && text != "-r":
			names = append(names, text)
		}
	}
	if slices.ContainsFunc(names, func(name string) bool { return !IsScratchVar(name) }) {
		return nil
	}
	return names
}

// assigns reports whether a command may give a variable a value.
func assigns(c *syntax.CallExpr) bool {
	if len(c.Args) == 0 || readNames(c) != nil {
		return false
	}
	name, plain := plainLiteral(c.Args[0])
	if c.Args[0].Lit() == "[" || name == "test" || name == "printf" { // -v
		return slices.ContainsFunc(c.Args[1:], func(w *syntax.Word) bool {
			text, known := plainLiteral(w)
			if quoted, ok := wholeQuote(w); ok {
				text, known = quoted, true
			}
			_, isParam := w.Parts[0].(*syntax.ParamExp)
			_, isQuoted := w.Parts[0].(*syntax.DblQuoted)
			return strings.HasPrefix(text, "-v") || text == "-R" || !known && !isParam && !isQuoted
		})
	}
	return !plain || slices.Contains(ChangesShellState, name) || slices.Contains(strings.Fields("read printf getopts unset wait exec"), name)
}

// filled are words with every value of their variables; nil if there are none, or too many. sure: they have one of them.
func (r *Reader) filled(args ...*syntax.Word) (cases [][]Word, sure bool) {
	if r.known == nil {
		return nil, false
	}
	values := map[string][]Word{}
	total, sure := 1, true
	for _, w := range args {
		syntax.Walk(w, func(n syntax.Node) bool {
			p, ok := n.(*syntax.ParamExp)
			if !ok || !plainParam(p) || values[p.Param.Value] != nil {
				return true
			}
			name := p.Param.Value
			given := r.known[name]
			if name == "PWD" && len(r.Dirs) == 1 {
				given = []Word{{r.Dirs[0], Literal}}
			} else if given != nil {
				sure = sure && slices.Contains(r.set, name)
			}
			if given != nil {
				values[name], total = given, min(total*len(given), maxCases+1)
			}
			return true
		})
	}
	if len(values) == 0 || total > maxCases {
		return nil, false
	}
	inner := *r
	for n := range total {
		inner.bound = map[string]Word{}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			inner.bound[name] = values[name][n%len(values[name])]
			n /= len(values[name])
		}
		var words []Word
		for _, w := range args {
			words = append(words, inner.words(w)...)
		}
		cases = append(cases, words)
	}
	return cases, sure
}

// assigned are the variables that a statement sets for sure, in the shell that reads it: x=1, or x=1 && …
func assigned(s *syntax.Stmt) (names []string) {
	if s.Background || s.Negated || s.Coprocess || s.Disown || len(s.Redirs) > 0 {
		return nil
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		for _, a := range c.Assigns {
			if len(c.Args) == 0 && a.Name != nil {
				names = append(names, a.Name.Value)
			}
		}
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt {
			return assigned(c.X)
		}
	}
	return names
}

// value puts the value of a variable into a word. Without quotes it would be taken apart at its blanks, and a name
// that a pattern stands for may have some.
func (b *builder) value(w Word, quoted bool) {
	switch {
	case w.Kind == Literal && (quoted || w.Text != "" && Only(w.Text, &PlainSet)):
		b.quoted(w.Text)
	case w.Kind == Glob && quoted && unescapedByte(w.Text, '{') < 0 && !strings.ContainsAny(w.Text, ",~"):
		b.text.WriteString(w.Text)
	default:
		b.unknown = true
	}
}
