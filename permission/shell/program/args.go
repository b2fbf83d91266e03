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
	Held     bool // a sandbox enforces that the command only reads: words may come to anything
	Flags    []flag
	Operands []bash.Word
	first    string // the first word
	late     bool   // a flag stands behind an operand: not every command takes it for one
	Ended    int    // operands from here on stand behind a --; -1: none does
}

func (a *Args) Has(names ...string) bool {
	return slices.ContainsFunc(a.Flags, func(f flag) bool { return slices.Contains(names, f.Name) })
}

// Given reports whether one of the flags of an attribute is given.
func (a *Args) Given(names []string) bool {
	return slices.Contains(names, Always) || a.Has(names...)
}

// ParseArgs sorts words as the program does. why is not empty where one is not known.
func ParseArgs(c *bash.Command, words []bash.Word, p *Program, held bool) (a *Args, why string) {
	a = &Args{Cmd: c, Program: p, Held: held, Ended: -1}
	if len(words) > 0 {
		a.first = words[0].Text
	}
	switch {
	case p.Raw:
		a.Operands, a.Ended = words, 0
		return a, a.checkRaw()
	case p.Exact:
		return a, a.parseExact(words)
	case p.bundled && len(words) > 0 && words[0].Kind == bash.Literal && words[0].Text != "" && words[0].Text[0] != '-':
		if f := strings.IndexByte(words[0].Text, 'f'); f >= 0 && f != len(words[0].Text)-1 {
			return nil, "its flags can't be checked" // without a minus, values come in the order of the flags
		}
		words = append([]bash.Word{{Text: "-" + words[0].Text, Kind: bash.Literal}}, words[1:]...)
	}
	return a, a.parse(words)
}

// checkRaw says which operand can't be checked.
func (a *Args) checkRaw() string {
	if a.Held {
		return ""
	}
	compares := comparesOnly(a.Cmd, a.Operands)
	for _, w := range a.Operands {
		if w.Kind == bash.PublicVar && !a.Program.vars || w.Kind == bash.Unknown && !(compares && isOneParam(w.Text)) {
			return NotLiteral(w.Text)
		}
	}
	return ""
}

// parse sorts words as getopt does.
func (a *Args) parse(words []bash.Word) (why string) {
	p := a.Program
	for i := 0; i < len(words); i++ {
		w := words[i]
		if why := a.unknown(w, p.safe || a.Ended >= 0); why != "" {
			return why
		}
		if p.answers && !a.Held && (strings.HasPrefix(w.Text, "@") || w.Kind == bash.Glob && w.CanBeFlag()) {
			return w.Text + " may name a file whose name contains spaces"
		}
		if a.Ended >= 0 || len(w.Text) < 2 || w.Text[0] != '-' {
			a.Operands = append(a.Operands, w)
			if p.stops && a.Ended < 0 {
				a.Ended = len(a.Operands)
			}
			continue
		}
		if w.Text == "--" {
			a.Ended = len(a.Operands)
			continue
		}
		a.late = a.late || len(a.Operands) > 0
		used, why := a.flag(w, words[i+1:])
		if why != "" {
			return why
		}
		i += used
	}
	return ""
}

// parseExact sorts words where options are whole words: all before the operands, or as find has them all behind.
func (a *Args) parseExact(words []bash.Word) (why string) {
	p := a.Program
	tests := false // find's expression has begun
	for i := 0; i < len(words); i++ {
		w := words[i]
		if why := a.unknown(w, false); why != "" {
			return why
		}
		name, _, attached := strings.Cut(w.Text, "=")
		if p.Paths { // go
			name = "-" + strings.TrimLeft(name, "-")
		}
		number := strings.TrimRight(w.Text, "0123456789")
		kind, known := p.Flags[w.Text]
		switch {
		case known:
			name = w.Text
		case p.Flags[number] == counting:
			a.Flags = append(a.Flags, flag{number, w})
			continue
		case p.Paths && attached && p.Flags[name] != 0:
			a.Flags = append(a.Flags, flag{name, w})
			continue
		case p.Paths && p.Flags[name] != 0 && strings.HasPrefix(w.Text, "--"):
			kind, known = p.Flags[name], true
		}
		if !known && (len(w.Text) < 2 || w.Text[0] != '-' || w.Kind != bash.Literal && a.Held) {
			if tests && w.Kind == bash.Literal {
				return w.Text + " is not on the read-only list after the first test"
			}
			a.Operands = append(a.Operands, w)
			continue
		}
		if len(a.Operands) > 0 && !p.expression && !p.Paths {
			return "unknown option after the first file: " + w.Text
		}
		if !known {
			return "flag " + w.Text + " is not on the read-only list"
		}
		tests = tests || p.expression && !slices.Contains([]string{"-L", "-H", "-P", "-E"}, name)
		f := flag{Name: name}
		if kind != bare {
			if i++; i == len(words) || words[i].Kind != bash.Literal && !a.Held {
				return "the value of " + w.Text + " expands at run time, so it can't be checked"
			}
			f.Value = words[i]
			if kind == counting && strings.Trim(f.Value.Text, "0123456789abcdefx+-") != "" {
				return "the value of " + w.Text + " is not a number"
			}
		}
		a.Flags = append(a.Flags, f)
	}
	return ""
}

// unknown says why a word can't be checked. safe: a glob may expand to a flag.
func (a *Args) unknown(w bash.Word, safe bool) string {
	switch {
	case w.Kind == bash.Unknown && a.Cmd.IsCase && strings.Contains(w.Text, ".."):
		return NotLiteral(w.Text) // up from a name that the line reads
	case w.Kind == bash.Literal || a.Held:
		return ""
	case w.Kind == bash.Glob && (safe || !w.CanBeFlag()):
		return ""
	case w.Kind == bash.Glob:
		return "glob pattern " + w.Text + " may expand to a flag"
	}
	return NotLiteral(w.Text)
}

// flag takes in the flag w. It returns how many of the next words were its value.
func (a *Args) flag(w bash.Word, next []bash.Word) (used int, why string) {
	set := a.Program.Flags
	if strings.HasPrefix(w.Text, "--") {
		return a.longFlag(w, next)
	}
	if w.Kind == bash.Glob {
		return 0, "flag " + w.Text + " is a glob pattern"
	}
	if set["-#"] != 0 && (strings.Trim(w.Text[1:], "0123456789") == "" || w.Kind == bash.Unknown && strings.IndexByte("$\"", w.Text[1]) >= 0) {
		a.Flags = append(a.Flags, flag{Name: "-#", Value: w})
		return 0, ""
	}
	for i := 1; i < len(w.Text); i++ {
		name := "-" + w.Text[i:i+1]
		kind, ok := set[name]
		if !ok {
			return 0, "flag " + w.Text + " is not on the read-only list"
		}
		rest := w.Text[i+1:]
		switch {
		case kind == bare || kind == optional && rest == "":
			a.Flags = append(a.Flags, flag{Name: name})
		case rest != "" && a.Program.apart:
			return 0, "the text after " + name + " in " + w.Text + " may be another flag"
		case rest != "":
			a.Flags = append(a.Flags, flag{name, bash.Word{Text: rest, Kind: w.Kind}})
			return 0, ""
		default:
			return a.nextValue(name, next)
		}
	}
	return 0, ""
}

func (a *Args) longFlag(w bash.Word, next []bash.Word) (used int, why string) {
	name, value, attached := strings.Cut(w.Text, "=")
	kind, ok := a.Program.Flags[name]
	switch {
	case !ok || w.Kind == bash.Glob && (!attached || strings.ContainsAny(name, `*?[\`)):
		return 0, "flag " + name + " is not on the read-only list"
	case (kind == bare || kind == paired) && attached:
		return 0, "flag " + name + " takes no value"
	case kind == paired:
		if len(next) < 2 || !a.Held && (next[0].Kind != bash.Literal || next[1].Kind != bash.Literal) {
			return 0, "the values of " + name + " expand at run time, so they can't be checked"
		}
		a.Flags = append(a.Flags, flag{name, next[1]})
		return 2, ""
	case attached:
		a.Flags = append(a.Flags, flag{name, bash.Word{Text: value, Kind: w.Kind}})
	case kind == bare || kind == optional:
		a.Flags = append(a.Flags, flag{Name: name})
	default:
		return a.nextValue(name, next)
	}
	return 0, ""
}

func (a *Args) nextValue(name string, next []bash.Word) (used int, why string) {
	if len(next) == 0 {
		return 0, "flag " + name + " has no value"
	}
	if next[0].Kind != bash.Literal && !a.Held {
		return 0, "the value of " + name + " expands at run time, so it can't be checked"
	}
	a.Flags = append(a.Flags, flag{name, next[0]})
	return 1, ""
}

// Check holds the words against the attributes of the program. name is the program, with its subcommand.
func (a *Args) Check(name string) string {
	p, n := a.Program, len(a.Operands)
	among := func(w bash.Word) bool {
		return slices.Contains(p.among, w.Text) || w.Kind > bash.Glob && a.Held || strings.Trim(w.Text, "0123456789") == ""
	}
	number := func(w bash.Word) bool {
		return w.Kind == bash.Literal && strings.Trim(w.Text, "0123456789.-smhd") == "" || w.Kind != bash.Literal && a.Held
	}
	scratch := func(w bash.Word) bool { return w.Kind == bash.Literal && HeldVar(w.Text) }
	not := func(is func(bash.Word) bool) func(bash.Word) bool { return func(w bash.Word) bool { return !is(w) } }
	switch {
	case p.most > 0 && n > p.most, p.Operands == NoOperands && n > 0:
		return name + " with more arguments is not on the read-only list"
	case n < p.least:
		return name + " is not on the read-only list"
	case p.needs != nil && !a.Has(p.needs...):
		return name + " is on the read-only list only with " + strings.Join(p.needs, " or ")
	case p.first != nil && !slices.Contains(p.first, a.first): // git stash -p list stashes: the name must stand first
		return name + " " + a.first + " is not on the read-only list"
	case p.among != nil && slices.ContainsFunc(a.Operands, not(among)):
		return name + " is on the read-only list only with " + strings.Join(p.among, ", ")
	case p.numbers && slices.ContainsFunc(a.Operands, not(number)):
		return "an argument of " + name + " is not a number"
	case p.scratch && slices.ContainsFunc(a.Operands, not(scratch)):
		return "it sets a variable that programs may use"
	case p.literal && !(a.Held && a.Cmd.Base() != "git") && slices.ContainsFunc(a.Operands, func(w bash.Word) bool { return w.Kind == bash.Glob || w.Kind != bash.Literal && !a.Held }):
		return "a glob pattern may expand to several words"
	case p.check != nil && a.Held:
		return a.checkHeld()
	case p.check != nil:
		return p.check(a)
	}
	return ""
}

// checkHeld runs the check of a program on the words that are known.
func (a *Args) checkHeld() string {
	p, known := a.Program, *a
	isUnknown := func(w bash.Word) bool { return w.Kind > bash.Glob }
	switch first := len(a.Operands) > 0 && a.Operands[0].Kind != bash.Literal; {
	case first && p.Operands == Script && strings.HasSuffix(a.Cmd.Name(), "awk") && !(a.Cmd.IsCase && isOneParam(a.Operands[0].Text)):
		text := strings.TrimSuffix(strings.TrimPrefix(a.Operands[0].Text, `"`), `"`) // as it is written
		known.Operands = append([]bash.Word{{Text: text, Kind: bash.Literal}}, a.Operands[1:]...)
	case p.Operands == Script && (first || slices.ContainsFunc(a.Flags, func(f flag) bool { return isUnknown(f.Value) })), first && a.Cmd.Name() == "printf":
		return when(a.Cmd.IsCase && p.Operands == Script, "its program is chosen at run time, so it can't be checked")
	case a.Cmd.Base() == "git":
	case first && (p.stops || p.least > 0):
		return NotLiteral(a.Operands[0].Text)
	case p.Operands != Script:
		known.Operands = slices.DeleteFunc(slices.Clone(a.Operands), isUnknown)
	}
	return p.check(&known)
}

// ExecEnd is where the command behind an -exec at i ends.
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

// NotLiteral is why a word that the shell expands is not read-only.
func NotLiteral(word string) string {
	return word + " expands at run time, so its value can't be checked"
}

// PlainZone reports whether a time zone is a name, and no path of a file elsewhere.
func PlainZone(v string) bool {
	return strings.Trim(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/") == "" && !strings.HasPrefix(v, "/")
}

// PlainLocale reports whether a backslash is a backslash in a language: in Big5, GBK and Shift JIS it may be the second
// half of a character, and then a text ends elsewhere.
func PlainLocale(v string) bool {
	name, set, _ := strings.Cut(v, ".")
	set = strings.ToUpper(strings.ReplaceAll(set, "-", ""))
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" &&
		(set == "UTF8" || set == "" && (name == "" || name == "C" || name == "POSIX" || strings.HasPrefix(name, "en_")))
}

// HeldVar reports whether a variable of the shell, which isn't exported, may have any value: its name means nothing to
// the shell or to a program.
func HeldVar(name string) bool {
	if bash.IsScratchVar(name) {
		return true
	}
	if name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || Keep[name] || slices.Contains(shellVars, name) {
		return false
	}
	return !slices.ContainsFunc(programVars, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// shellVars are variables that the shell itself uses, and programVars the beginnings of those that programs use.
var (
	shellVars   = strings.Fields("PATH IFS ENV CDPATH SHELLOPTS GLOBIGNORE FIGNORE OPTIND OPTARG OPTERR PWD OLDPWD PPID UID EUID RANDOM SECONDS MAILPATH MAIL EXECIGNORE FUNCNEST TIMEFORMAT COMPREPLY REPLY EDITOR VISUAL")
	programVars = strings.Fields("BASH LC_ LD_ DYLD_ GIT_ PYTHON NODE_ NPM_ PIP_ GO RUST CARGO PERL RUBY JAVA PS PROMPT_ HIST POSIX LESS MAN PAGER RIPGREP_ GREP_ JQ_ AWK TMOUT INPUTRC XDG_ SSH_ HTTP HTTPS NO_ ALL_ MALLOC GLIBC GCONV OPENSSL ADZE _")
)

var Keep = map[string]bool{
	"HOME": true, "USER": true, "LOGNAME": true, "SHELL": true, "LANGUAGE": true, "TZ": true, "TMPDIR": true, "TERM": true, "COLORTERM": true,
	"NO_COLOR": true, "COLUMNS": true, "LINES": true, "HOSTNAME": true, "SYSTEMROOT": true, "SystemRoot": true, "USERPROFILE": true, "TEMP": true, "TMP": true,
}
