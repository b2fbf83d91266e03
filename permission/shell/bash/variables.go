package bash

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A command with variables whose values all stand in the line stands in the script once more with each value. Every value
// that a name is given anywhere in the line counts everywhere. That it has one of them is sure in the body of a loop that
// sets it, and behind an assignment in the same list.

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

func (v variables) give(name string, words ...Word) {
	for _, w := range words {
		if w.Kind > Glob || !IsScratchVar(name) {
			w = Word{Kind: Unknown}
		}
		if !slices.Contains(v[name], w) {
			v[name] = append(v[name], w)
		}
	}
}

// values collects the values that names are given in a line. It finds nothing if there is anything in the line that may
// set a variable in a way that isn't read.
func (r Reader) values(file *syntax.File) variables {
	v, lost := variables{}, false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.DeclClause, *syntax.FuncDecl, *syntax.CStyleLoop, *syntax.UnaryTest:
			test, ok := n.(*syntax.UnaryTest) // the index of a name is calculated
			lost = lost || !ok || test.Op == syntax.TsVarSet || test.Op == syntax.TsRefVar
		case *syntax.BinaryTest: // [[ x=1 -eq 1 ]] calculates
			lost = lost || calculates(n)
		case *syntax.Redirect: // {x}< file
			lost = lost || n.N != nil && strings.HasPrefix(n.N.Value, "{")
		case *syntax.ParamExp:
			lost = lost || n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull)
		case *syntax.CallExpr:
			names, assigns := r.assignedBy(n)
			for _, name := range names {
				v.give(name, Word{Kind: Unknown})
			}
			lost = lost || assigns
		case *syntax.Assign:
			if n.Name != nil {
				a := r.assign(n)
				switch {
				case a.Odd:
					a.Value.Kind = Unknown
				case a.Value.Kind == Glob: // nothing is looked up in an assignment
					a.Value = Word{Unescaped(a.Value.Text), Literal}
				}
				v.give(a.Name, a.Value)
			}
		case *syntax.ForClause:
			if loop, ok := n.Loop.(*syntax.WordIter); ok && loop.Name != nil {
				if n.Select || !loop.InPos.IsValid() { // without in, it is what the line was called with
					v.give(loop.Name.Value, Word{Kind: Unknown})
				}
				for _, w := range loop.Items {
					v.give(loop.Name.Value, r.words(w)...)
				}
			}
		}
		return !lost
	})
	if lost || v["IFS"] != nil || v["PWD"] != nil {
		return nil
	}
	return v
}

// calculates reports whether a test takes its words for numbers.
func calculates(n *syntax.BinaryTest) bool {
	return slices.Contains([]string{"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}, n.Op.String())
}

// assignedBy are the variables of read -r NAME…. unknown: a command may give values to others.
func (r Reader) assignedBy(c *syntax.CallExpr) (names []string, unknown bool) {
	if len(c.Args) == 0 {
		return nil, false
	}
	name, plain := plainLiteral(c.Args[0])
	switch {
	case c.Args[0].Lit() == "[" || name == "test" || name == "printf": // -v
		return nil, slices.ContainsFunc(c.Args[1:], func(w *syntax.Word) bool {
			_, isParam := w.Parts[0].(*syntax.ParamExp)
			_, isQuoted := w.Parts[0].(*syntax.DblQuoted)
			word := r.oneWord(w)
			return strings.HasPrefix(word.Text, "-v") || word.Text == "-R" || word.Kind > Glob && !isParam && !isQuoted || name == "printf" && FormatAssigns(word.Text)
		})
	case name == "read":
		for _, w := range c.Args[1:] {
			text, ok := plainLiteral(w)
			if !ok || text != "-r" && !IsScratchVar(text) {
				return nil, true
			}
			names = append(names, text)
		}
		return names, len(c.Args) == 1
	}
	return nil, !plain || slices.Contains(ChangesShellState, name) || slices.Contains([]string{"getopts", "unset", "wait", "exec"}, name)
}

// filled are the values that the variables in words may have together; nil if none is known, or if there are too many.
// sure: they have one of them.
func (r Reader) filled(words []*syntax.Word) (cases []map[string]Word, sure bool) {
	cases, sure = []map[string]Word{{}}, true
	for _, name := range r.plainParams(words) {
		given := r.known[name]
		if name == "PWD" && len(r.Dirs) == 1 {
			given = []Word{{r.Dirs[0], Literal}}
		} else if given != nil {
			sure = sure && slices.Contains(r.set, name)
		}
		if len(cases)*len(given) > maxCases {
			return nil, false
		}
		var next []map[string]Word
		for _, c := range cases {
			for _, w := range given {
				one := maps.Clone(c)
				one[name] = w
				next = append(next, one)
			}
		}
		if given != nil {
			cases = next
		}
	}
	if len(cases[0]) == 0 {
		return nil, false
	}
	return cases, sure
}

// plainParams are the names of the variables in words, if any value is known.
func (r Reader) plainParams(words []*syntax.Word) (names []string) {
	if r.known == nil {
		return nil
	}
	for _, w := range words {
		syntax.Walk(w, func(n syntax.Node) bool {
			if p, ok := n.(*syntax.ParamExp); ok && plainParam(p) && !slices.Contains(names, p.Param.Value) {
				names = append(names, p.Param.Value)
			}
			return true
		})
	}
	return names
}

// assigned are the variables that a statement sets for sure, in the shell that reads it: x=1, or x=1 && …
func assigned(s *syntax.Stmt) (names []string) {
	if decorated(s) {
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
