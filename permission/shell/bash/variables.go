package bash

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variables are the variables of which the line has set the value. nil: any command may change them from here on.
type variables map[string]Word

// with returns v after an assignment. A word that isn't known makes the variable unknown.
func (v variables) with(name string, w Word) variables {
	if v == nil {
		return nil
	}
	v = maps.Clone(v)
	if delete(v, name); w.Kind <= Glob && IsScratchVar(name) {
		v[name] = w
	}
	return v
}

// maxUnrolled is the maximum number of times that the body of a loop is read.
const maxUnrolled = 64

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

// after returns the variables after a statement: those that it assigns plainly are known, others that it may set are not.
func (r Reader) after(s *syntax.Stmt) variables {
	v := r.vars
	if v == nil {
		return nil
	}
	forget := func(name string) {
		if _, known := v[name]; known {
			v = v.with(name, Word{Kind: Unknown})
		}
	}
	syntax.Walk(s, func(n syntax.Node) bool {
		any := r.readsTwice(n) // it may set any variable, now or later
		r.twice = r.twice || any
		switch n := n.(type) {
		case *syntax.FuncDecl:
			any = true
		case *syntax.Redirect: // {x}< file
			any = n.N != nil && strings.HasPrefix(n.N.Value, "{")
		case *syntax.WordIter:
			forget(n.Name.Value)
		case *syntax.Assign:
			if n.Name != nil {
				forget(n.Name.Value)
				any = any || n.Name.Value == "IFS"
			}
		case *syntax.ParamExp:
			any = any || n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull)
		case *syntax.CallExpr:
			for _, w := range n.Args {
				forget(w.Lit()) // read x
			}
			any = len(n.Args) > 0 && r.callSetsAny(n)
		}
		if any {
			v = nil
		}
		return v != nil
	})
	if call, ok := s.Cmd.(*syntax.CallExpr); ok && len(call.Args) == 0 && !decorated(s) {
		r.vars = v // a value may depend on those before it
		for _, a := range call.Assigns {
			set := r.assign(a)
			if set.Value.Kind == Glob { // a pattern isn't expanded here
				set.Value = Word{Unescaped(set.Value.Text), Literal}
			}
			if !set.Odd {
				v = v.with(set.Name, set.Value)
			}
		}
	}
	return v
}

// callSetsAny reports whether a simple command may set any variable. read sets those that are its words.
func (r Reader) callSetsAny(c *syntax.CallExpr) bool {
	name, plain := plainLiteral(c.Args[0])
	isOdd := func(w *syntax.Word) bool { return w.Lit() == "" || !only(w.Lit(), nameBytes+"-") }
	return !plain && c.Args[0].Lit() != "[" || name == "exec" || slices.Contains(ChangesShellState, name) ||
		r.readsTwice(c) && (name != "read" || slices.ContainsFunc(c.Args, isOdd))
}
