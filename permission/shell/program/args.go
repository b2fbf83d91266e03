package program

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
)

// flag is a flag of a call.
type flag struct {
	Name  string
	Value bash.Word
}

// Args are the words of a call, sorted into flags and operands.
type Args struct {
	Cmd      *bash.Command
	Program  *Program
	Held     bool // a sandbox enforces that the command only reads: words may expand to anything
	Flags    []flag
	Operands []bash.Word
	Ended    int // index of the first operand after a --; -1: none
	words    []bash.Word
}

// Has reports whether one of these flags is given, or Always is among them.
func (a *Args) Has(names ...string) bool {
	return slices.Contains(names, Always) || slices.ContainsFunc(a.Flags, func(f flag) bool { return slices.Contains(names, f.Name) })
}

// ParseArgs sorts words as the program does, and checks them. why is not empty where they are not known to be read-only. name is
// the program, with its subcommand.
func ParseArgs(c *bash.Command, name string, words []bash.Word, p *Program, held bool) (a *Args, why string) {
	a = &Args{Cmd: c, Program: p, Held: held, Ended: -1, words: words}
	if p.Raw {
		a.Operands, a.Ended = words, 0
	}
	for i := 0; i < len(words) && why == ""; i++ {
		w, used := words[i], 0
		isFlag := a.Ended < 0 && (len(w.Text) > 1 && w.Text[0] == '-' || p.Exact && p.Flags[w.Text] != 0)
		switch why = a.unknown(w); {
		case why != "" || p.Raw:
		case isFlag && w.Text == "--" && !p.Exact:
			a.Ended = len(a.Operands)
		case isFlag:
			used, why = a.flag(w, words[i+1:])
			i += used
		case p.Expression && len(a.Flags) > 0 && w.Kind == bash.Literal:
			why = w.Text + " is not on the read-only list after the first test"
		default:
			if a.Operands = append(a.Operands, w); p.Stops && a.Ended < 0 {
				a.Ended = len(a.Operands)
			}
		}
	}
	if why == "" {
		why = a.check(name)
	}
	return a, why
}

// unknown says why a word can't be checked.
func (a *Args) unknown(w bash.Word) string {
	p := a.Program
	switch {
	case w.Kind == bash.Literal, a.Held, w.Kind == bash.Printable && p.Vars:
		return ""
	case w.Kind == bash.Glob && (p.Raw || p.Safe || a.Ended >= 0 || !w.CanBeFlag()):
		return ""
	case w.Kind == bash.Glob:
		return "glob pattern " + w.Text + " may expand to a flag"
	}
	return NotLiteral(w.Text)
}

// flag adds the flag w. It returns how many of the next words are its value.
func (a *Args) flag(w bash.Word, next []bash.Word) (used int, why string) {
	name, value, attached := strings.Cut(w.Text, "=")
	if a.Program.Expression || a.Program.Flags[w.Text] != 0 {
		name, attached = w.Text, false
	}
	long := a.Program.Exact || strings.HasPrefix(w.Text, "--")
	switch kind := a.Program.Flags[name]; {
	case w.Kind == bash.Glob && !(long && attached && !strings.ContainsAny(name, `*?[\`)):
		return 0, "flag " + w.Text + " is a glob pattern"
	case !long:
		return a.cluster(w, next)
	case kind == 0 || kind == running && !a.Held:
		return 0, "flag " + name + " is not on the read-only list"
	case attached && (kind == bare || kind == paired):
		return 0, "flag " + name + " takes no value"
	case attached:
		a.Flags = append(a.Flags, flag{name, bash.Word{Text: value, Kind: w.Kind}})
	case kind == bare || kind == optional:
		a.Flags = append(a.Flags, flag{Name: name})
	default:
		return a.nextValue(name, next)
	}
	return 0, ""
}

// cluster adds the short flags in one word.
func (a *Args) cluster(w bash.Word, next []bash.Word) (used int, why string) {
	set := a.Program.Flags
	if set["-#"] != 0 && (strings.Trim(w.Text[1:], "0123456789") == "" || w.Kind == bash.Unknown && strings.IndexByte("$\"", w.Text[1]) >= 0) {
		a.Flags = append(a.Flags, flag{Name: "-#", Value: w})
		return 0, ""
	}
	for i := 1; i < len(w.Text); i++ {
		name, rest := "-"+w.Text[i:i+1], w.Text[i+1:]
		switch kind := set[name]; {
		case kind == 0:
			return 0, "flag " + w.Text + " is not on the read-only list"
		case kind == bare || kind == optional && rest == "":
			a.Flags = append(a.Flags, flag{Name: name})
		case rest != "":
			a.Flags = append(a.Flags, flag{name, bash.Word{Text: rest, Kind: w.Kind}})
			return 0, ""
		default:
			return a.nextValue(name, next)
		}
	}
	return 0, ""
}

// nextValue adds a flag whose value is in the next words.
func (a *Args) nextValue(name string, next []bash.Word) (used int, why string) {
	switch used = 1; a.Program.Flags[name] {
	case paired:
		used = 2
	case running:
		used = ExecEnd(next, -1) + 1
	}
	if len(next) < used {
		return 0, "flag " + name + " has no value"
	}
	if !a.Held && slices.ContainsFunc(next[:used], func(w bash.Word) bool { return w.Kind != bash.Literal }) {
		return 0, "the value of " + name + " expands at run time, so it can't be checked"
	}
	a.Flags = append(a.Flags, flag{name, next[used-1]})
	return used, ""
}

// check checks the words against the attributes of the program.
func (a *Args) check(name string) string {
	p, n := a.Program, len(a.Operands)
	isSet := func(w bash.Word) bool {
		return w.Kind != bash.Literal || !bash.IsScratchVar(w.Text) && !(a.Held && HeldVar(w.Text))
	}
	switch {
	case p.Most > 0 && n > p.Most, p.None && !p.Raw && n > 0:
		return name + " with more arguments is not on the read-only list"
	case p.Scratch && slices.ContainsFunc(a.Operands, isSet):
		return "it sets a variable that programs may use"
	case p.Script:
		return a.checkScripts(name)
	case p.form.text != "" && !p.form.matches(a.text()):
		return name + " with these arguments is not on the read-only list"
	}
	for _, f := range a.Flags {
		if f.Value.Text != "" && p.ban.matches(f.Name+"="+f.Value.Text) {
			return name + " with the value " + f.Value.Text + " of " + f.Name + " is not on the read-only list"
		}
	}
	return ""
}

// text is the words as forms describe them: a newline ends each of them, and a glob begins with a star.
func (a *Args) text() string {
	var b strings.Builder
	for _, w := range a.words {
		if w.Kind == bash.Glob {
			b.WriteString("*")
		}
		b.WriteString(strings.ReplaceAll(w.Text, "\n", "\r") + "\n")
	}
	return b.String()
}

// checkScripts looks at the programs that a command is given in its words.
func (a *Args) checkScripts(name string) string {
	var scripts []bash.Word
	for _, f := range a.Flags {
		if f.Name == "-e" && f.Value.Text != "" || f.Name == "--expression" {
			scripts = append(scripts, f.Value)
		}
	}
	if len(scripts) == 0 {
		scripts = slices.Clone(a.Operands[:min(1, len(a.Operands))])
	}
	if len(scripts) == 0 {
		return "the " + name + " program can't be checked"
	}
	isOpen := func(w bash.Word) bool {
		literal := w.Kind == bash.Literal
		return !literal && (w.Kind == bash.Glob || !a.Held) || literal && a.Program.form.text != "" && !a.Program.form.matches(w.Text)
	}
	isBanned := func(w bash.Word) bool { return a.Program.ban.matches(w.Text) }
	if slices.ContainsFunc(scripts, isOpen) || slices.ContainsFunc(append(scripts, a.Operands...), isBanned) {
		return "the " + name + " program is not on the read-only list"
	}
	return ""
}

// sedScript matches scripts of sed whose commands only print, or are s without the flags that write or run. Patterns in
// which seds might see a delimiter elsewhere are not matched: those with a delimiter, a bracket or a backslash between
// brackets, and lines that continue.
func sedScript() string {
	const text = `(?:[^\\\n/]|\\[^\n])*/`
	const pattern = `(?:[^\\\n\[/]|\\[^\n]|\[\^?(?:[^\]\[\\\n/^]|\[:[a-z]+:\])(?:[^\]\[\\\n/]|\[:[a-z]+:\])*\])*/`
	const replace = `s/` + pattern + text + `[gpiImM0-9]*`
	const address = `(?:[0-9]+(?:~[0-9]+)?|\$|/` + pattern + `I?)`
	command := `(?:[pd=nNDPhHgGxF]|[qQl][ 0-9]*|` + replace + `|` + strings.ReplaceAll(replace, "/", `\|`) + `)`
	return `^(?:[\s;}]*(?:` + address + `[ \t]*(?:,[ \t]*(?:[+~]?[0-9]+|` + address + `))?)?[ \t!]*(?:\{|` + command + `[ \t]*(?:[;}\n]|$)))*[\s;}]*$`
}

// NotLiteral is why a word that the shell expands is not read-only.
func NotLiteral(word string) string {
	return word + " expands at run time, so its value can't be checked"
}

// ExecEnd returns the end of the command after an -exec at i.
func ExecEnd(words []bash.Word, i int) int {
	end := i + 1
	for end < len(words) && words[end].Text != ";" && !(words[end].Text == "+" && end > 0 && words[end-1].Text == "{}") {
		end++
	}
	return end
}

// FindTakes reports whether find takes the next word for the value of a test.
func FindTakes(test string) bool {
	kind := ReadOnly().Plain["find"].Flags[test]
	return kind == valued || kind == Reading
}

// HeldVar reports whether a variable of the shell, which isn't exported, may have any value: its name means nothing to
// the shell or to a program.
func HeldVar(name string) bool {
	p := ReadOnly().Enforced["NAME"]
	return bash.IsScratchVar(name) || p.form.matches(name+"\n") && !p.ban.matches(name)
}
