package bash

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bash reads some texts twice, whatever quotes stood around them: the index of a variable, a number that it calculates,
// ${x@P} and the prompts. A variable that stands in a calculation is a text too, wherever its value was written. So in a
// line that does any of this, every text with a substitution in it counts as run.

// readTwice adds the commands in texts that are read twice.
func (r Reader) readTwice() {
	twice := false
	for _, l := range r.lines {
		r.source = l.source
		syntax.Walk(l.file, func(n syntax.Node) bool {
			twice = twice || r.readsTwice(n)
			return !twice
		})
	}
	if !twice {
		return
	}
	r.Dirs = []string{r.options.Dir} // when it is read is not known, and so it runs where any command does
	for _, c := range r.script.Commands {
		r.Dirs = union(r.Dirs, c.Dirs)
	}
	var dollar, bracket bool // of two texts that may make one: '$' and '(rm x)'
	for _, l := range slices.Clone(r.lines) {
		r.source = l.source
		for _, text := range r.quotedTexts(l.file) {
			ends, begins := strings.HasSuffix(text, "$"), strings.HasPrefix(text, "(")
			dollar, bracket = dollar || ends && !begins, bracket || begins && !ends
			r.readAgain(text)
		}
	}
	if dollar && bracket {
		r.Unknown(byExpansion(r.source))
	}
}

// byExpansion stands for the expansion that runs a text.
func byExpansion(text string) *Command {
	return &Command{Words: []Word{{"an expansion", Literal}}, Source: text}
}

// octal is a $ or a back quote as a prompt may write it.
var octal = regexp.MustCompile(`\\0?(44|140)`)

// readAgain reads the substitutions of a text.
func (r Reader) readAgain(text string) {
	by := byExpansion(text)
	if octal.MatchString(text) {
		r.Unknown(by)
	}
	if text = strings.ReplaceAll(text, `\`, ""); !strings.Contains(text, "$(") && !strings.Contains(text, "${") && !strings.Contains(text, "`") {
		return
	}
	before := r.Err
	doc, err := r.parser.Document(&timed{strings.NewReader(text), r.options.Deadline})
	if err != nil || r.Nest > MaxNest || strings.Contains(text, "\r") || strings.Contains(text, "#") && strings.Contains(text, "\n") {
		r.Unknown(by)
		return
	}
	r.source, r.by, r.Place = text, by, Text
	r.Nest++
	r.nested(doc)
	if r.Err != before {
		r.Err = before
		r.Unknown(by)
	}
	for _, inner := range r.quotedTexts(doc) {
		if inner != text {
			r.readAgain(inner)
		}
	}
}

// quotedTexts are the words below a node, without their quotes, in which a $ or a back quote was quoted, so that bash does
// not expand it the first time, or that begin with a bracket. What is expanded stands in them as it is written.
func (r Reader) quotedTexts(n syntax.Node) (texts []string) {
	var b strings.Builder
	quoted := false
	add := func(s string) {
		b.WriteString(s)
		quoted = quoted || strings.ContainsAny(s, "$`") || strings.HasPrefix(s, "(") || octal.MatchString(s)
	}
	part := func(p syntax.WordPart) {
		switch p := p.(type) {
		case *syntax.Lit:
			add(p.Value)
		case *syntax.SglQuoted:
			s, ok := p.Value, true
			if p.Dollar {
				s, ok = ansiC(s)
			}
			if add(s); !ok {
				add("$") // who knows
			}
		default:
			b.WriteString(r.text(p))
		}
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		w, ok := n.(*syntax.Word)
		if !ok {
			return true
		}
		b.Reset()
		quoted = false
		for _, p := range w.Parts {
			if q, ok := p.(*syntax.DblQuoted); ok {
				for _, p := range q.Parts {
					part(p)
				}
				continue
			}
			part(p)
		}
		if quoted {
			texts = append(texts, b.String())
		}
		return true
	})
	return texts
}

// Variables whose values are read twice: prompts, and those that are numbers to bash itself; and builtins that calculate
// the index of a name.
var (
	twiceVars   = strings.Fields("PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND BASH_ENV ENV RANDOM SRANDOM SECONDS OPTIND HISTCMD LINENO BASHPID EPOCHSECONDS")
	calculating = strings.Fields("let read unset wait getopts mapfile readarray compgen complete local declare typeset export readonly builtin command")
)

// readsTwice reports whether a node calculates with texts, or expands one as a prompt.
func (r Reader) readsTwice(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.ArithmExp:
		return !constant(n.X)
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop, *syntax.DeclClause:
		return true
	case *syntax.ParamExp: // in "${x:-'$(rm x)'}" they don't quote
		return n.Excl || !constant(n.Index) || n.Slice != nil || n.Exp != nil && (strings.Contains(r.text(n), "'") || n.Exp.Op == syntax.OtherParamOps)
	case *syntax.Assign:
		return !constant(n.Index) || n.Array != nil || n.Name != nil && slices.Contains(twiceVars, n.Name.Value)
	case *syntax.UnaryTest:
		return n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar
	case *syntax.BinaryTest:
		return calculates(n)
	case *syntax.CallExpr:
		return len(n.Args) > 0 && r.callReadsTwice(n)
	}
	return false
}

// callReadsTwice is readsTwice for a simple command with words.
func (r Reader) callReadsTwice(c *syntax.CallExpr) bool {
	name := SystemName(r.word(c.Args[0]).Text)
	tests := name == "test" || name == "[" || name == "printf"
	return slices.Contains(calculating, name) || slices.ContainsFunc(c.Args, func(w *syntax.Word) bool {
		source, text := r.text(w), r.word(w).Text
		set, _, assigns := strings.Cut(source, "=")                               // env PS4=…
		index := strings.HasPrefix(source, "{") && strings.HasSuffix(source, "}") // {a[i]}> file
		return index || assigns && slices.Contains(twiceVars, set) || tests && (strings.HasPrefix(text, "-v") || text == "-R" || FormatAssigns(text))
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
	return assigningFormat.MatchString(strings.ReplaceAll(format, "%%", ""))
}

var assigningFormat = regexp.MustCompile(`%[-0-9.*+# 'hlLqjzt$]*n`)
