package bash

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bash reads some texts twice, whatever quotes stood around them: the index of a variable, a number that it calculates,
// ${x@P} and the prompts. A variable that stands in a calculation is a text too, wherever its value was written. So in a
// line that does any of this, every text with a substitution in it counts as run.

// readTwice adds the commands in texts that are read twice.
func (r Reader) readTwice() {
	prompts, calculates := false, false
	for _, l := range r.lines {
		r.source = l.source
		if strings.ContainsAny(l.source, "$`") || strings.Contains(l.source, "PS") || strings.Contains(l.source, "PROMPT") {
			syntax.Walk(l.file, func(n syntax.Node) bool {
				prompts, calculates = prompts || r.isPrompt(n), calculates || r.calculates(n)
				return true
			})
		}
	}
	if !prompts && !calculates {
		return
	}
	r.Dirs = []string{r.options.Dir} // when it is read is not known, and so it runs where any command does
	for _, c := range r.script.Commands {
		r.Dirs = union(r.Dirs, c.Dirs)
	}
	var dollar, bracket bool // of two texts that may make one: '$' and '(rm x)'
	for _, l := range slices.Clone(r.lines) {
		r.source = l.source
		syntax.Walk(l.file, func(n syntax.Node) bool {
			if w, ok := n.(*syntax.Word); ok {
				text := r.unquoted(w)
				ends, begins := strings.HasSuffix(text, "$"), strings.HasPrefix(text, "(")
				dollar, bracket = dollar || ends && !begins, bracket || begins && !ends
			}
			r.readPart(n, prompts)
			return true
		})
	}
	if dollar && bracket {
		r.Unknown(byExpansion(r.source))
	}
}

// byExpansion stands for the expansion that runs a text.
func byExpansion(text string) *Command {
	return &Command{Words: []Word{{"an expansion", Literal}}, Source: text}
}

// readPart reads a word again, or the words that are calculated or expanded for sure.
func (r Reader) readPart(n syntax.Node, prompts bool) {
	switch p := n.(type) {
	case *syntax.Word:
		text := r.unquoted(p)
		r.readAgain(text, prompts, prompts || strings.Contains(text, "["))
		return
	case *syntax.ParamExp:
		if p.Index == nil && p.Slice == nil && p.Exp == nil {
			return
		}
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause:
	default:
		return
	}
	syntax.Walk(n, func(inner syntax.Node) bool {
		if w, ok := inner.(*syntax.Word); ok {
			r.readAgain(r.unquoted(w), prompts, true)
		}
		return true
	})
}

// readAgain reads the substitutions of a text that bash may read again, or does for sure. prompts: also with the escapes of a
// prompt.
func (r Reader) readAgain(text string, prompts, sure bool) {
	by := byExpansion(text)
	substitutes := strings.Contains(text, "$(") || strings.Contains(text, "${") || strings.Contains(text, "`")
	switch {
	case prompts && strings.Contains(text, `\`): // \044 is a $
		r.Unknown(by)
	case substitutes:
		doc, err := r.parser.Document(&timed{strings.NewReader(text), r.options.Deadline})
		if err != nil || r.Nest > MaxNest || strings.Contains(text, "\r") || strings.Contains(text, "#") && strings.Contains(text, "\n") {
			r.Unknown(by)
			return
		}
		err = r.Err
		r.source, r.by, r.Place, r.guess = text, by, Text, r.guess || !sure
		r.Nest++
		r.nested(doc)
		if r.Err != err {
			r.Err, r.guess = err, false
			r.Unknown(by)
		}
		syntax.Walk(doc, func(n syntax.Node) bool {
			if n != syntax.Node(doc) {
				r.readPart(n, prompts)
			}
			return true
		})
	}
}

// unquoted is a word without its quotes and backslashes, if a $ or a back quote in it was quoted, so that bash does not
// expand it the first time, or it begins with a bracket. What is expanded stands in it as it is written.
func (r Reader) unquoted(w *syntax.Word) string {
	var b strings.Builder
	quoted := false
	add := func(s string) {
		b.WriteString(s)
		quoted = quoted || strings.ContainsAny(s, "$`") || strings.HasPrefix(s, "(")
	}
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			add(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			if s, ok := ansiC(p.Value); p.Dollar && ok {
				add(s)
			} else if p.Dollar {
				add("$") // who knows
			} else {
				add(p.Value)
			}
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if lit, ok := q.(*syntax.Lit); ok {
					add(unquoteDouble(lit.Value))
				} else {
					b.WriteString(r.text(q))
				}
			}
		default:
			b.WriteString(r.text(p))
		}
	}
	if !quoted {
		return ""
	}
	return b.String()
}

// promptVars are the variables whose values are read twice.
var promptVars = strings.Fields("PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND BASH_ENV ENV")

// isPrompt reports whether a node sets a prompt, or expands a text as one.
func (r Reader) isPrompt(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.ParamExp:
		if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && strings.Contains(n.Exp.Word.Lit(), "P") {
			r.Unknown(byExpansion(r.text(n)))
			return true
		}
	case *syntax.Assign:
		if n.Name != nil && n.Name.Value == "PROMPT_COMMAND" {
			r.Line(byExpansion(r.text(n)), r.word(n.Value), true)
		}
		return n.Name != nil && slices.Contains(promptVars, n.Name.Value)
	case *syntax.Word: // env PS4=…
		name, _, assigns := strings.Cut(r.text(n), "=")
		return assigns && slices.Contains(promptVars, name)
	}
	return false
}

// Variables whose values are numbers to bash itself, and builtins that calculate the index of a name.
var (
	calculatedVars = strings.Fields("RANDOM SRANDOM SECONDS OPTIND HISTCMD LINENO BASHPID EPOCHSECONDS")
	calculating    = strings.Fields("let read unset wait getopts mapfile readarray compgen complete local declare typeset export readonly builtin command")
)

// calculates reports whether a node calculates with texts.
func (r Reader) calculates(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.ArithmExp:
		return !constant(n.X)
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop, *syntax.DeclClause:
		return true
	case *syntax.ParamExp: // in "${x:-'$(rm x)'}" they don't quote
		return n.Excl || !constant(n.Index) || n.Slice != nil || n.Exp != nil && strings.Contains(r.text(n), "'")
	case *syntax.Assign:
		return !constant(n.Index) || n.Array != nil || n.Name != nil && slices.Contains(calculatedVars, n.Name.Value)
	case *syntax.UnaryTest:
		return n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar
	case *syntax.BinaryTest:
		return calculates(n)
	case *syntax.CallExpr:
		return len(n.Args) > 0 && r.callCalculates(n)
	}
	return false
}

// callCalculates is calculates for a simple command with words.
func (r Reader) callCalculates(c *syntax.CallExpr) bool {
	name := SystemName(r.word(c.Args[0]).Text)
	names := func(w *syntax.Word) bool { // {a[i]}> file
		return strings.HasPrefix(r.text(w), "{") && strings.HasSuffix(r.text(w), "}")
	}
	if slices.Contains(calculating, name) || slices.ContainsFunc(c.Args, names) {
		return true
	}
	return (name == "test" || name == "[" || name == "printf") && slices.ContainsFunc(c.Args[1:], func(w *syntax.Word) bool {
		flag := r.word(w).Text
		return strings.HasPrefix(flag, "-v") || flag == "-R" || name == "printf" && FormatAssigns(flag)
	})
}

// constant reports whether a calculation is a number, or there is none.
func constant(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return x == nil || ok && (w.Lit() == "@" || w.Lit() == "*" || w.Lit() != "" && strings.Trim(w.Lit(), "0123456789") == "")
}

// FormatAssigns reports whether a format holds %n, which assigns to a variable that its operand names: an index in that name
// is calculated, and calculating may run a command.
func FormatAssigns(format string) bool {
	for {
		_, rest, found := strings.Cut(format, "%")
		if !found {
			return false
		}
		rest = strings.TrimLeft(rest, "0123456789.*-+# 'hlLqjzt$")
		if strings.HasPrefix(rest, "n") {
			return true
		}
		format = strings.TrimPrefix(rest, "%")
	}
}
