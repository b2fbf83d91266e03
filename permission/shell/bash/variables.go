package bash

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A line with variables whose values are all in it is read again with each value in their place. Every value that a name is
// given anywhere in the line counts everywhere. After an assignment, and in the body of a loop that sets
// it, a variable has one of them for sure.

// maxCases is the maximum number of ways to fill in a line.
const maxCases = 64

// scratchNames are names in capitals that have no meaning to the shell, and that auto-approved commands don't inherit.
var scratchNames = strings.Fields("FILE FILES DIR DIRS F D X Y N I A B C NAME NAMES PATTERN SRC FOO BAR BRANCH BASE COMMIT SHA TAG VERSION COUNT TOTAL NUM " +
	"ROOT TARGET DEST OUT INPUT START END KEY VALUE RESULT STATUS EXT PKG MODULE PROJECT REPO TEXT LINE MSG LOG FILENAME ITEM URL PORT")

// IsScratchVar reports whether a name has no meaning to any program.
func IsScratchVar(name string) bool {
	if slices.Contains(scratchNames, name) {
		return true
	}
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" && !strings.Contains(name, "proxy") &&
		!strings.HasPrefix(name, "npm_") && name != "histchars" && name != "auto_resume" && name[0] != '_'
}

// variables are the values that a line gives variables, by name. One of kind Unknown means any value.
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

// values collects the values that a line gives variables. all means that it doesn't set variables in other ways.
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
				all = all && !n.Select && loop.InPos.IsValid() // without in, it loops over $@
				for _, w := range loop.Items {
					v.give(loop.Name.Value, r.words(w)...)
				}
			}
		}
		return true
	})
	if !moves(file.Stmts) && !names(r.source, "PWD") {
		v["PWD"] = []Word{{r.options.Dir, Literal}}
	}
	return v, all && v["IFS"] == nil
}

// assign adds the value of an assignment, in which patterns aren't expanded.
func (v variables) assign(a Assign) {
	switch {
	case a.Odd:
		a.Value.Kind = Unknown
	case a.Value.Kind == Glob:
		a.Value = Word{Unescaped(a.Value.Text), Literal}
	}
	v.give(a.Name, a.Value)
}

// cases returns the ways to fill in the variables of a line; nil if there are too many.
func (v variables) cases() []map[string]Word {
	cases := []map[string]Word{{}}
	for name, given := range v {
		var next []map[string]Word
		for _, w := range given {
			for _, c := range cases {
				one := maps.Clone(c)
				one[name] = w
				next = append(next, one)
			}
		}
		if cases = next; len(cases) > maxCases {
			return nil
		}
	}
	return cases
}

// edit replaces a part of a line.
type edit struct {
	from, to int
	text     string
}

// fill returns a line with values in place of its variables. complete means that all that have values were replaced.
func fill(line string, file *syntax.File, values map[string]Word) (filled string, complete bool) {
	complete = true
	quoted := map[syntax.WordPart]bool{}
	var edits []edit
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DblQuoted:
			for _, p := range n.Parts {
				quoted[p] = true
			}
		case *syntax.ParamExp:
			w, known := values[n.Param.Value]
			text, ok := filledIn(w, quoted[n])
			if known && plainParam(n) && ok {
				edits = append(edits, edit{int(n.Pos().Offset()), int(n.End().Offset()), text})
			} else if known {
				complete = false
			}
		case *syntax.Redirect: // in a here-document, quotes are text
			return n.Hdoc == nil
		}
		return true
	})
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	for _, e := range edits {
		line = line[:e.from] + e.text + line[e.to:]
	}
	return line, complete
}

// filledIn returns what replaces a variable with the value w. Without quotes, bash would split it at blanks and expand
// patterns.
func filledIn(w Word, quoted bool) (text string, ok bool) {
	switch {
	case w.Kind == Glob:
		return `"` + w.Text + `"`, quoted && only(w.Text, patternBytes)
	case quoted:
		return `"` + Quote(w.Text) + `"`, w.Kind == Literal
	}
	return w.Text, w.Kind == Literal && w.Text != "" && only(w.Text, plainBytes)
}

// isSet reports whether a variable has one of its known values for sure.
func (r Reader) isSet(name string) bool {
	given := r.known[name]
	return r.certain && given != nil && slices.Contains(r.set, name) && !slices.Contains(given, Word{Kind: Unknown})
}

// assigned returns the variables that a statement sets for sure.
func assigned(s *syntax.Stmt) (names []string) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || decorated(s) || len(call.Args) > 0 {
		return nil
	}
	for _, a := range call.Assigns {
		names = append(names, a.Name.Value)
	}
	return names
}
