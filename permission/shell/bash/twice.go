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

// readTwice adds an unknown command if the line reads texts twice and one of them may have a substitution.
func (r Reader) readTwice() {
	var twice, opens, dollar, bracket bool // the last two in texts that may be joined: '$' and '(rm x)'
	for _, l := range r.lines {
		r.source = l.source
		syntax.Walk(l.file, func(n syntax.Node) bool {
			twice = twice || r.readsTwice(n)
			text := quotedText(n)
			opens = opens || opensSubstitution().MatchString(text)
			ends, begins := strings.HasSuffix(text, "$"), strings.HasPrefix(text, "(")
			dollar, bracket = dollar || ends && !begins, bracket || begins && !ends
			return true
		})
	}
	if twice && (opens || dollar && bracket) {
		r.Unknown(&Command{Words: []Word{{"an expansion", Literal}}, Source: r.source})
	}
}

// The beginning of a substitution, also as a prompt may write it.
var opensSubstitution = lazy.Regexp("\\$[({]|`|\\\\0?(44|140)")

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

// Variables whose values are read twice: prompts, and variables that bash evaluates as numbers; and builtins that may
// evaluate the index of a name.
var (
	twiceVars   = lazy.Regexp("PS[0-4]|PROMPT_COMMAND|ENV|RANDOM|SECONDS|OPTIND|HISTCMD|LINENO|BASHPID")
	calculating = strings.Fields("let read unset wait getopts mapfile readarray compgen complete local declare " +
		"typeset export readonly builtin command test [ printf")
)

// onlyPrints reports whether a command is printf, and sets no variable: no option (-v), and no %n.
func (r Reader) onlyPrints(n *syntax.CallExpr) bool {
	if len(n.Args) < 2 || SystemName(r.word(n.Args[0]).Text) != "printf" {
		return false
	}
	format := r.word(n.Args[1])
	return format.Kind == Literal && !strings.HasPrefix(format.Text, "-") &&
		!strings.Contains(strings.ReplaceAll(format.Text, `\n`, ""), "n")
}

// readsTwice reports whether a node may calculate with texts, or expand one as a prompt.
func (r Reader) readsTwice(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop, *syntax.DeclClause,
		*syntax.TestClause:
		return true
	case *syntax.ParamExp:
		return !plainParam(n)
	case *syntax.Assign:
		return n.Index != nil || n.Array != nil || n.Name != nil && twiceVars().MatchString(n.Name.Value)
	case *syntax.CallExpr:
		return slices.ContainsFunc(n.Args, func(arg *syntax.Word) bool {
			w := r.word(arg)
			return arg == n.Args[0] && slices.Contains(calculating, SystemName(w.Text)) && !r.onlyPrints(n) ||
				strings.HasPrefix(r.text(arg), "{") || // {a[i]}> file
				strings.Contains(w.Text, "=") && (w.Kind > Glob || twiceVars().MatchString(w.Text))
		})
	}
	return false
}
