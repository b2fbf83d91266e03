package shell

import (
	"slices"
	"strings"
)

// flag is a flag of a call.
type flag struct {
	name  string
	value Word
}

// args are the words of a call, sorted into flags and operands.
type args struct {
	cmd      *Command
	program  *program
	held     bool // a sandbox enforces that the command only reads: words may come to anything
	flags    []flag
	operands []Word
	first    string // the first word
	late     bool   // a flag stands behind an operand: not every command takes it for one
	ended    int    // operands from here on stand behind a --; -1: none does
}

func (a *args) has(names ...string) bool {
	return slices.ContainsFunc(a.flags, func(f flag) bool { return slices.Contains(names, f.name) })
}

// given reports whether one of the flags of an attribute is given.
func (a *args) given(names []string) bool {
	return slices.Contains(names, alwaysFlag) || a.has(names...)
}

// parseArgs sorts words as the program does. why is not empty where one is not known.
func parseArgs(c *Command, words []Word, p *program, held bool) (a *args, why string) {
	a = &args{cmd: c, program: p, held: held, ended: -1}
	if len(words) > 0 {
		a.first = words[0].Text
	}
	switch {
	case p.raw:
		a.operands, a.ended = words, 0
		return a, a.checkRaw()
	case p.exact:
		return a, a.parseExact(words)
	case p.bundled && len(words) > 0 && words[0].Kind == Literal && words[0].Text != "" && words[0].Text[0] != '-':
		if f := strings.IndexByte(words[0].Text, 'f'); f >= 0 && f != len(words[0].Text)-1 {
			return nil, "its flags can't be checked" // without a minus, values come in the order of the flags
		}
		words = append([]Word{{"-" + words[0].Text, Literal}}, words[1:]...)
	}
	return a, a.parse(words)
}

// checkRaw says which operand can't be checked.
func (a *args) checkRaw() string {
	if a.held {
		return ""
	}
	compares := comparesOnly(a.cmd, a.operands)
	for _, w := range a.operands {
		if w.Kind == PublicVar && !a.program.vars || w.Kind == Unknown && !(compares && isOneParam(w.Text)) {
			return notLiteral(w.Text)
		}
	}
	return ""
}

// parse sorts words as getopt does.
func (a *args) parse(words []Word) (why string) {
	p := a.program
	for i := 0; i < len(words); i++ {
		w := words[i]
		if why := a.unknown(w, p.safe || a.ended >= 0); why != "" {
			return why
		}
		if p.answers && !a.held && (strings.HasPrefix(w.Text, "@") || w.Kind == Glob && w.canBeFlag()) {
			return w.Text + " may name a file whose name contains spaces"
		}
		if a.ended >= 0 || len(w.Text) < 2 || w.Text[0] != '-' {
			a.operands = append(a.operands, w)
			if p.stops && a.ended < 0 {
				a.ended = len(a.operands)
			}
			continue
		}
		if w.Text == "--" {
			a.ended = len(a.operands)
			continue
		}
		a.late = a.late || len(a.operands) > 0
		used, why := a.flag(w, words[i+1:])
		if why != "" {
			return why
		}
		i += used
	}
	return ""
}

// parseExact sorts words where options are whole words: all before the operands, or as find has them all behind.
func (a *args) parseExact(words []Word) (why string) {
	p := a.program
	tests := false // find's expression has begun
	for i := 0; i < len(words); i++ {
		w := words[i]
		if why := a.unknown(w, false); why != "" {
			return why
		}
		name, _, attached := strings.Cut(w.Text, "=")
		if p.paths { // go
			name = "-" + strings.TrimLeft(name, "-")
		}
		number := strings.TrimRight(w.Text, "0123456789")
		kind, known := p.flags[w.Text]
		switch {
		case known:
			name = w.Text
		case p.flags[number] == counting:
			a.flags = append(a.flags, flag{number, w})
			continue
		case p.paths && attached && p.flags[name] != 0:
			a.flags = append(a.flags, flag{name, w})
			continue
		case p.paths && p.flags[name] != 0 && strings.HasPrefix(w.Text, "--"):
			kind, known = p.flags[name], true
		}
		if !known && (len(w.Text) < 2 || w.Text[0] != '-' || w.Kind != Literal && a.held) {
			if tests && w.Kind == Literal {
				return w.Text + " is not on the read-only list after the first test"
			}
			a.operands = append(a.operands, w)
			continue
		}
		if len(a.operands) > 0 && !p.expression && !p.paths {
			return "unknown option after the first file: " + w.Text
		}
		if !known {
			return "flag " + w.Text + " is not on the read-only list"
		}
		tests = tests || p.expression && !slices.Contains([]string{"-L", "-H", "-P", "-E"}, name)
		f := flag{name: name}
		if kind != bare {
			if i++; i == len(words) || words[i].Kind != Literal && !a.held {
				return "the value of " + w.Text + " expands at run time, so it can't be checked"
			}
			f.value = words[i]
			if kind == counting && strings.Trim(f.value.Text, "0123456789abcdefx+-") != "" {
				return "the value of " + w.Text + " is not a number"
			}
		}
		a.flags = append(a.flags, f)
	}
	return ""
}

// unknown says why a word can't be checked. safe: a glob may expand to a flag.
func (a *args) unknown(w Word, safe bool) string {
	switch {
	case w.Kind == Unknown && a.cmd.filled && strings.Contains(w.Text, ".."):
		return notLiteral(w.Text) // up from a name that the line reads
	case w.Kind == Literal || a.held:
		return ""
	case w.Kind == Glob && (safe || !w.canBeFlag()):
		return ""
	case w.Kind == Glob:
		return "glob pattern " + w.Text + " may expand to a flag"
	}
	return notLiteral(w.Text)
}

// flag takes in the flag w. It returns how many of the next words were its value.
func (a *args) flag(w Word, next []Word) (used int, why string) {
	set := a.program.flags
	if strings.HasPrefix(w.Text, "--") {
		return a.longFlag(w, next)
	}
	if w.Kind == Glob {
		return 0, "flag " + w.Text + " is a glob pattern"
	}
	if set["-#"] != 0 && (strings.Trim(w.Text[1:], "0123456789") == "" || w.Kind == Unknown && strings.IndexByte("$\"", w.Text[1]) >= 0) {
		a.flags = append(a.flags, flag{name: "-#", value: w})
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
			a.flags = append(a.flags, flag{name: name})
		case rest != "" && a.program.apart:
			return 0, "the text after " + name + " in " + w.Text + " may be another flag"
		case rest != "":
			a.flags = append(a.flags, flag{name, Word{rest, w.Kind}})
			return 0, ""
		default:
			return a.nextValue(name, next)
		}
	}
	return 0, ""
}

func (a *args) longFlag(w Word, next []Word) (used int, why string) {
	name, value, attached := strings.Cut(w.Text, "=")
	kind, ok := a.program.flags[name]
	switch {
	case !ok || w.Kind == Glob && (!attached || strings.ContainsAny(name, `*?[\`)):
		return 0, "flag " + name + " is not on the read-only list"
	case (kind == bare || kind == paired) && attached:
		return 0, "flag " + name + " takes no value"
	case kind == paired:
		if len(next) < 2 || !a.held && (next[0].Kind != Literal || next[1].Kind != Literal) {
			return 0, "the values of " + name + " expand at run time, so they can't be checked"
		}
		a.flags = append(a.flags, flag{name, next[1]})
		return 2, ""
	case attached:
		a.flags = append(a.flags, flag{name, Word{value, w.Kind}})
	case kind == bare || kind == optional:
		a.flags = append(a.flags, flag{name: name})
	default:
		return a.nextValue(name, next)
	}
	return 0, ""
}

func (a *args) nextValue(name string, next []Word) (used int, why string) {
	if len(next) == 0 {
		return 0, "flag " + name + " has no value"
	}
	if next[0].Kind != Literal && !a.held {
		return 0, "the value of " + name + " expands at run time, so it can't be checked"
	}
	a.flags = append(a.flags, flag{name, next[0]})
	return 1, ""
}

// check holds the words against the attributes of the program. name is the program, with its subcommand.
func (a *args) check(name string) string {
	p, n := a.program, len(a.operands)
	among := func(w Word) bool {
		return slices.Contains(p.among, w.Text) || w.Kind > Glob && a.held || strings.Trim(w.Text, "0123456789") == ""
	}
	number := func(w Word) bool {
		return w.Kind == Literal && strings.Trim(w.Text, "0123456789.-smhd") == "" || w.Kind != Literal && a.held
	}
	scratch := func(w Word) bool { return w.Kind == Literal && heldVar(w.Text) }
	not := func(is func(Word) bool) func(Word) bool { return func(w Word) bool { return !is(w) } }
	switch {
	case p.most > 0 && n > p.most, p.operands == noOperands && n > 0:
		return name + " with more arguments is not on the read-only list"
	case n < p.least:
		return name + " is not on the read-only list"
	case p.needs != nil && !a.has(p.needs...):
		return name + " is on the read-only list only with " + strings.Join(p.needs, " or ")
	case p.first != nil && !slices.Contains(p.first, a.first): // git stash -p list stashes: the name must stand first
		return name + " " + a.first + " is not on the read-only list"
	case p.among != nil && slices.ContainsFunc(a.operands, not(among)):
		return name + " is on the read-only list only with " + strings.Join(p.among, ", ")
	case p.numbers && slices.ContainsFunc(a.operands, not(number)):
		return "an argument of " + name + " is not a number"
	case p.scratch && slices.ContainsFunc(a.operands, not(scratch)):
		return "it sets a variable that programs may use"
	case p.literal && !(a.held && a.cmd.base() != "git") && slices.ContainsFunc(a.operands, func(w Word) bool { return w.Kind == Glob || w.Kind != Literal && !a.held }):
		return "a glob pattern may expand to several words"
	case p.check != nil && a.held:
		return a.checkHeld()
	case p.check != nil:
		return p.check(a)
	}
	return ""
}

// checkHeld runs the check of a program on the words that are known.
func (a *args) checkHeld() string {
	p, known := a.program, *a
	isUnknown := func(w Word) bool { return w.Kind > Glob }
	switch first := len(a.operands) > 0 && a.operands[0].Kind != Literal; {
	case first && p.operands == script && strings.HasSuffix(a.cmd.Name(), "awk") && !(a.cmd.filled && isOneParam(a.operands[0].Text)):
		text := strings.TrimSuffix(strings.TrimPrefix(a.operands[0].Text, `"`), `"`) // as it is written
		known.operands = append([]Word{{text, Literal}}, a.operands[1:]...)
	case p.operands == script && (first || slices.ContainsFunc(a.flags, func(f flag) bool { return isUnknown(f.value) })), first && a.cmd.Name() == "printf":
		return when(a.cmd.filled && p.operands == script, "its program is chosen at run time, so it can't be checked")
	case a.cmd.base() == "git":
	case first && (p.stops || p.least > 0):
		return notLiteral(a.operands[0].Text)
	case p.operands != script:
		known.operands = slices.DeleteFunc(slices.Clone(a.operands), isUnknown)
	}
	return p.check(&known)
}

// execEnd is where the command behind an -exec at i ends.
func execEnd(words []Word, i int) int {
	end := i + 1
	for end < len(words) && words[end].Text != ";" && !(words[end].Text == "+" && end > 0 && words[end-1].Text == "{}") {
		end++
	}
	return end
}

// findTakes reports whether find takes the next word for the value of a test.
func findTakes(test string) bool {
	kind := readOnly().plain["find"].flags[test]
	return kind == valued || kind == reading
}

// notLiteral is why a word that the shell expands is not read-only.
func notLiteral(word string) string {
	return word + " expands at run time, so its value can't be checked"
}

// plainZone reports whether a time zone is a name, and no path of a file elsewhere.
func plainZone(v string) bool {
	return strings.Trim(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/") == "" && !strings.HasPrefix(v, "/")
}

// plainLocale reports whether a backslash is a backslash in a language: in Big5, GBK and Shift JIS it may be the second
// half of a character, and then a text ends elsewhere.
func plainLocale(v string) bool {
	name, set, _ := strings.Cut(v, ".")
	set = strings.ToUpper(strings.ReplaceAll(set, "-", ""))
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" &&
		(set == "UTF8" || set == "" && (name == "" || name == "C" || name == "POSIX" || strings.HasPrefix(name, "en_")))
}

// heldVar reports whether a variable of the shell, which isn't exported, may have any value: its name means nothing to
// the shell or to a program.
func heldVar(name string) bool {
	if isScratchVar(name) {
		return true
	}
	if name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || keep[name] || slices.Contains(shellVars, name) {
		return false
	}
	return !slices.ContainsFunc(programVars, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// shellVars are variables that the shell itself uses, and programVars the beginnings of those that programs use.
var (
	shellVars   = strings.Fields("PATH IFS ENV CDPATH SHELLOPTS GLOBIGNORE FIGNORE OPTIND OPTARG OPTERR PWD OLDPWD PPID UID EUID RANDOM SECONDS MAILPATH MAIL EXECIGNORE FUNCNEST TIMEFORMAT COMPREPLY REPLY EDITOR VISUAL")
	programVars = strings.Fields("BASH LC_ LD_ DYLD_ GIT_ PYTHON NODE_ NPM_ PIP_ GO RUST CARGO PERL RUBY JAVA PS PROMPT_ HIST POSIX LESS MAN PAGER RIPGREP_ GREP_ JQ_ AWK TMOUT INPUTRC XDG_ SSH_ HTTP HTTPS NO_ ALL_ MALLOC GLIBC GCONV OPENSSL ADZE _")
)

var keep = map[string]bool{
	"HOME": true, "USER": true, "LOGNAME": true, "SHELL": true, "LANGUAGE": true, "TZ": true, "TMPDIR": true, "TERM": true, "COLORTERM": true,
	"NO_COLOR": true, "COLUMNS": true, "LINES": true, "HOSTNAME": true, "SYSTEMROOT": true, "SystemRoot": true, "USERPROFILE": true, "TEMP": true, "TMP": true,
}
