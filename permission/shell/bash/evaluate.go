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

// parsedLine is a line as it was parsed.
type parsedLine struct {
	source string
	file   *syntax.File
}

// evaluated adds the commands in texts that are read twice.
func (r *Reader) evaluated() {
	evaluates, prompts := false, false
	if !slices.ContainsFunc(r.lines, func(l parsedLine) bool {
		return strings.ContainsAny(l.source, "$`") || strings.Contains(l.source, "PS") || strings.Contains(l.source, "PROMPT")
	}) {
		return
	}
	for _, l := range r.lines {
		r.source = l.source
		one, prompt := r.evaluates(l.file)
		evaluates, prompts = evaluates || one, prompts || prompt
	}
	if !evaluates && !prompts {
		return
	}
	r.Dirs = []string{r.options.Dir} // when it is read is not known, and so it runs where any command does
	for _, c := range r.script.Commands {
		r.Dirs = union(r.Dirs, c.Dirs)
	}
	var dollar, bracket bool // of two texts that may make one: '$' and '(rm x)'
	for _, l := range r.lines {
		r.source = l.source
		r.texts(l.file, false, func(text string, sure bool) {
			if ends, begins := strings.HasSuffix(text, "$"), strings.HasPrefix(text, "("); ends != begins {
				dollar, bracket = dollar || ends, bracket || begins
			}
			switch {
			case prompts && octal.MatchString(text), dollar && bracket:
				r.Unknown(byExpansion(text))
			case strings.Contains(text, "$(") || strings.Contains(text, "${") || strings.Contains(text, "`"):
				r.readAgain(text, sure || prompts)
			}
		})
	}
}

// octal is a $ or a back quote as a prompt may write it; escapes are backslashes that are gone when a text is read again.
var octal, escapes = regexp.MustCompile(`\\0?(44|140)`), regexp.MustCompile("\\\\+([$`])")

// byExpansion stands for the expansion that runs a text.
func byExpansion(text string) *Command {
	return &Command{Words: []Word{{"an expansion", Literal}}, Source: text}
}

// readAgain reads the substitutions of a text that is read again. sure: nothing else is done with it.
func (r *Reader) readAgain(text string, sure bool) {
	by := byExpansion(text)
	by.MayRun = !sure
	doc, err := r.parser.Document(&timed{strings.NewReader(text), r.options.Deadline})
	if r.Nest >= MaxNest || err != nil || strings.Contains(text, "\r") || strings.Contains(text, "#") && strings.Contains(text, "\n") {
		by.MayRun = false
		r.Unknown(by)
		return
	}
	outer := *r
	r.source, r.by, r.Place, r.Err = text, by, Text, nil
	r.guess = r.guess || !sure
	r.Nest++
	r.nested(doc)
	r.texts(doc, true, func(inner string, _ bool) {
		if inner != text && strings.ContainsAny(inner, "$`") {
			r.readAgain(inner, sure)
		}
	})
	if r.Err != nil {
		r.guess = false
		r.Unknown(byExpansion(text))
	}
	r.source, r.by, r.Place, r.Dirs, r.Err, r.guess, r.Nest = outer.source, outer.by, outer.Place, outer.Dirs, outer.Err, outer.guess, outer.Nest
}

// texts gives visit every word below a node without its quotes; what it expands stands in it as it is written. sure: it
// is calculated or holds an index.
func (r *Reader) texts(n syntax.Node, sure bool, visit func(text string, sure bool)) {
	deep := 0 // words within calculations
	var open []bool
	syntax.Walk(n, func(n syntax.Node) bool {
		if n == nil {
			if last := len(open) - 1; last >= 0 {
				if open[last] {
					deep--
				}
				open = open[:last]
			}
			return true
		}
		calculated := false
		switch n := n.(type) {
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause:
			calculated = true
		case *syntax.ParamExp:
			calculated = n.Index != nil || n.Slice != nil || n.Exp != nil
		case *syntax.Word:
			if text, quoted := r.unquotedText(n); quoted {
				visit(escapes.ReplaceAllString(text, "$1"), sure || deep > 0 || strings.Contains(text, "["))
			}
		}
		if open = append(open, calculated); calculated {
			deep++
		}
		return true
	})
}

// unquotedText is a word without its quotes. quoted: a $ or a back quote in it was quoted, so that bash does not expand
// it the first time, or it begins with a bracket.
func (r *Reader) unquotedText(w *syntax.Word) (text string, quoted bool) {
	var b strings.Builder
	add := func(s string) {
		b.WriteString(s)
		quoted = quoted || strings.ContainsAny(s, "$`") || strings.HasPrefix(s, "(")
	}
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			add(Unescaped(p.Value))
		case *syntax.SglQuoted:
			s := p.Value
			if p.Dollar {
				if decoded, ok := ansiC(s); ok {
					s = decoded
				} else {
					s = "$" // who knows
				}
			}
			add(s)
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
	return b.String(), quoted
}

// evaluates reports whether a line reads texts twice, and whether it does as prompts are read.
func (r *Reader) evaluates(file *syntax.File) (yes, prompt bool) {
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp:
			yes = yes || !constant(n.X)
		case *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop, *syntax.DeclClause:
			yes = true
		case *syntax.ParamExp:
			yes = yes || n.Excl || !constant(n.Index) || n.Slice != nil && !(constant(n.Slice.Offset) && constant(n.Slice.Length))
			yes = yes || n.Exp != nil && strings.Contains(r.text(n), "'") // in "${x:-'$(rm x)'}" they don't quote
			if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && strings.Contains(n.Exp.Word.Lit(), "P") {
				yes, prompt = true, true
				r.Unknown(byExpansion("${" + n.Param.Value + "@P}"))
			}
		case *syntax.Assign:
			yes = yes || !constant(n.Index) || n.Array != nil
			yes = yes || n.Name != nil && slices.Contains(calculatedVars, n.Name.Value)
			if n.Name != nil && slices.Contains(prompts, n.Name.Value) {
				yes, prompt = true, true
				if n.Name.Value == "PROMPT_COMMAND" {
					r.Line(byExpansion("PROMPT_COMMAND"), r.word(n.Value), true)
				}
			}
		case *syntax.UnaryTest:
			yes = yes || n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar
		case *syntax.BinaryTest:
			yes = yes || strings.Contains(" -eq -ne -lt -le -gt -ge ", " "+n.Op.String()+" ")
		case *syntax.CallExpr:
			one, also := r.callEvaluates(n)
			yes, prompt = yes || one || also, prompt || also
		}
		return true
	})
	return yes, prompt
}

// calculatedVars are the variables whose values are numbers to bash itself.
var calculatedVars = strings.Fields("RANDOM SRANDOM SECONDS OPTIND HISTCMD LINENO BASHPID EPOCHSECONDS")

// prompts are the variables whose values are read twice.
var prompts = strings.Fields("PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND BASH_ENV ENV")

// callEvaluates is evaluates for a simple command.
func (r *Reader) callEvaluates(c *syntax.CallExpr) (yes, prompt bool) {
	wraps := len(c.Args) > 0 && (c.Args[0].Lit() == "builtin" || c.Args[0].Lit() == "command")
	for i, w := range c.Args {
		if source := r.text(w); i > 0 && !wraps && !strings.HasPrefix(source, "{") && !strings.Contains(source, "=") {
			continue
		}
		text, _ := r.unquotedText(w)
		name, _, assigns := strings.Cut(text, "=")
		prompt = prompt || assigns && slices.Contains(prompts, name)
		yes = yes || strings.HasPrefix(text, "{") && strings.HasSuffix(text, "]}") // {a[i]}> file
		switch name := SystemName(text); {
		case i > 0 && !wraps:
		case slices.Contains(strings.Fields("let read unset wait getopts mapfile readarray compgen complete local declare typeset export readonly"), name):
			yes = true
		case name == "test" || name == "[" || name == "printf":
			yes = yes || slices.ContainsFunc(c.Args[i:], func(w *syntax.Word) bool {
				flag, _ := r.unquotedText(w)
				return strings.HasPrefix(flag, "-v") || flag == "-R" || name == "printf" && FormatAssigns(flag)
			})
		}
	}
	return yes, prompt
}

// constant reports whether a calculation is one of numbers, or there is none.
func constant(x syntax.ArithmExpr) bool {
	if x == nil {
		return true
	}
	if w, ok := x.(*syntax.Word); ok && (w.Lit() == "@" || w.Lit() == "*") {
		return true
	}
	_, ok := calculate(x)
	return ok
}

// FormatAssigns reports whether a format holds %n, which assigns to a variable that its operand names: an index in that name
// is calculated, and calculating may run a command.
func FormatAssigns(format string) bool {
	for {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			return false
		}
		format = strings.TrimLeft(format[i+1:], "0123456789.*-+# 'hlLqjzt$")
		if strings.HasPrefix(format, "n") {
			return true
		}
		format = strings.TrimPrefix(format, "%")
	}
}
