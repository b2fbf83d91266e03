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

// values collects the values that names are given in a line. all: nothing in the line may set a variable in a way that
// isn't read.
func (r Reader) values(file *syntax.File) (v variables, all bool) {
	v, all = variables{}, true
	syntax.Walk(file, func(n syntax.Node) bool {
		all = all && !r.readsTwice(n)
		switch n := n.(type) {
		case *syntax.FuncDecl:
			all = false
		case *syntax.Redirect: // {x}< file
			all = all && (n.N == nil || !strings.HasPrefix(n.N.Value, "{"))
		case *syntax.ParamExp:
			all = all && (n.Exp == nil || n.Exp.Op != syntax.AssignUnset && n.Exp.Op != syntax.AssignUnsetOrNull)
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				name, plain := plainLiteral(n.Args[0])
				all = all && (plain || n.Args[0].Lit() == "[") && name != "exec" && !slices.Contains(ChangesShellState, name)
				for i := 1; i < len(n.Args) && name == "read"; i++ {
					v.give(n.Args[i].Lit(), Word{Kind: Unknown})
				}
			}
		case *syntax.Assign:
			if n.Name != nil {
				v.assign(r.assign(n))
			}
		case *syntax.ForClause:
			if loop, ok := n.Loop.(*syntax.WordIter); ok {
				all = all && !n.Select && loop.InPos.IsValid() // without in, it is what the line was called with
				for _, w := range loop.Items {
					v.give(loop.Name.Value, r.words(w)...)
				}
			}
		}
		return true
	})
	return v, all && v["IFS"] == nil && v["PWD"] == nil
}

// assign gives a variable the value of an assignment, in which nothing is looked up.
func (v variables) assign(a Assign) {
	switch {
	case a.Odd:
		a.Value.Kind = Unknown
	case a.Value.Kind == Glob:
		a.Value = Word{Unescaped(a.Value.Text), Literal}
	}
	v.give(a.Name, a.Value)
}

// filled are the values that the variables in words may have together; nil if none is known, or if there are too many.
// sure: they have one of them.
func (r Reader) filled(words []*syntax.Word) (cases []map[string]Word, sure bool) {
	cases, sure = []map[string]Word{{}}, r.certain
	for _, name := range plainParams(words) {
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

// plainParams are the names of the variables in words.
func plainParams(words []*syntax.Word) (names []string) {
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
