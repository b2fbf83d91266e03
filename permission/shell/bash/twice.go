package bash

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/adze-dev/adze/internal/engine/lazy"
)

// Bash reads some texts twice, whatever quotes are around them: the index of a variable, a number that it calculates,
// ${x@P} and the prompts. A variable in a calculation is a text too, wherever its value was written. So in a line that
// does any of this, every quoted text with a substitution counts as run.

// readTwice adds the commands in texts that may be read twice.
func (r Reader) readTwice() {
	twice := false
	var texts []string
	for _, l := range r.lines {
		r.source = l.source
		syntax.Walk(l.file, func(n syntax.Node) bool {
			twice = twice || r.readsTwice(n)
			texts = append(texts, quotedText(n))
			return true
		})
	}
	if !twice {
		return
	}
	var dollar, bracket bool // in two texts that may be joined: '$' and '(rm x)'
	for _, text := range texts {
		ends, begins := strings.HasSuffix(text, "$"), strings.HasPrefix(text, "(")
		dollar, bracket = dollar || ends && !begins, bracket || begins && !ends
		by := &Command{Words: []Word{{"an expansion", Literal}}, Source: text}
		rest := plainSubstitution().ReplaceAllStringFunc(text, func(s string) string {
			r.Line(by, Word{strings.Trim(s, "$()`"), Literal})
			return ""
		})
		if opensSubstitution().MatchString(rest) {
			r.Unknown(by)
		}
	}
	if dollar && bracket {
		r.Unknown(&Command{Words: []Word{{"an expansion", Literal}}, Source: r.source})
	}
}

// A substitution in which nothing is quoted or expanded, and the beginning of any other, also as a prompt may write it.
var (
	plainSubstitution = lazy.Regexp("\\$\\([^$`'\"\\\\()*?\\[{~]*\\)|`[^$`'\"\\\\()*?\\[{~]*`")
	opensSubstitution = lazy.Regexp("\\$[({]|`|\\\\0?(44|140)")
)

// quotedText returns a text after quote removal; "" if a node isn't one.
func quotedText(n syntax.Node) string {
	switch n := n.(type) {
	case *syntax.Lit:
		if opensSubstitution().MatchString(n.Value) { // in double quotes, a backslash may stay
			return n.Value
		}
		return strings.ReplaceAll(n.Value, `\`, "")
	case *syntax.SglQuoted:
		if text, ok := ansiC(n.Value); n.Dollar && ok {
			return text
		} else if n.Dollar {
			return "$(" // it may be
		}
		return n.Value
	}
	return ""
}

// Variables whose values are read twice: prompts, and variables that bash evaluates as numbers; and builtins that
// evaluate the index of a name.
var (
	twiceVars = strings.Fields("PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND BASH_ENV ENV RANDOM SRANDOM SECONDS OPTIND " +
		"HISTCMD LINENO BASHPID EPOCHSECONDS")
	calculating = strings.Fields("let read unset wait getopts mapfile readarray compgen complete local declare " +
		"typeset export readonly builtin command")
)

// readsTwice reports whether a node calculates with texts, or expands one as a prompt.
func (r Reader) readsTwice(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.ArithmExp:
		return !constant(n.X)
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop, *syntax.DeclClause:
		return true
	case *syntax.ParamExp: // in "${x:-'$(rm x)'}" they don't quote
		return n.Excl || !constant(n.Index) || n.Slice != nil || n.Exp != nil &&
			(strings.Contains(r.text(n), "'") || n.Exp.Op == syntax.OtherParamOps)
	case *syntax.Assign:
		return !constant(n.Index) || n.Array != nil || n.Name != nil && slices.Contains(twiceVars, n.Name.Value)
	case *syntax.UnaryTest:
		return n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar
	case *syntax.BinaryTest:
		return slices.Contains([]string{"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}, n.Op.String())
	case *syntax.CallExpr:
		return len(n.Args) > 0 && r.callReadsTwice(n)
	}
	return false
}

// callReadsTwice is readsTwice for a simple command with words. An unknown word may be -v, a format or the name of a
// variable.
func (r Reader) callReadsTwice(c *syntax.CallExpr) bool {
	name := SystemName(r.word(c.Args[0]).Text)
	tests := name == "test" || name == "[" || name == "printf"
	return slices.Contains(calculating, name) || slices.ContainsFunc(c.Args, func(arg *syntax.Word) bool {
		source, w := r.text(arg), r.word(arg)
		set, _, assigns := strings.Cut(w.Text, "=")                               // env PS4=…
		index := strings.HasPrefix(source, "{") && strings.HasSuffix(source, "}") // {a[i]}> file
		return index || assigns && (slices.Contains(twiceVars, set) || w.Kind != Literal &&
			strings.Contains(set, "$")) ||
			tests && (w.Kind > Glob || strings.HasPrefix(w.Text, "-v") || w.Text == "-R" ||
				assigningFormat().MatchString(strings.ReplaceAll(w.Text, "%%", "")))
	})
}

// constant reports whether an expression is a number, or missing.
func constant(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return x == nil || ok && (w.Lit() == "@" || w.Lit() == "*" || w.Lit() != "" &&
		strings.Trim(w.Lit(), "0123456789") == "")
}

// assigningFormat matches %n, which assigns to the variable that an operand names. An index in that name is evaluated,
// which may run a command.
var assigningFormat = lazy.Regexp(`%[-0-9.*+# 'hlLqjzt$]*n`)
