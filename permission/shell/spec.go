package shell

import (
	"slices"
	"strings"
	"sync"
)

// spec is what is known of a harmless command: the flags with which it stays so, and what its operands are. A flag
// that is not here is unknown, and so is an abbreviated one; nothing is forbidden by name.
type spec struct {
	// flags in the notation of [parseFlags].
	flags      string
	exact      string // the same for a command that knows only whole words as options, and numbers as their values
	operands   operands
	most       int  // most operands; 0: any number
	safe       bool // no flag at all of the real command writes, runs or reaches: a glob may then come out as one
	raw        bool // words that begin with a minus are operands too
	apart      bool // the value of a short flag is the next word, never the rest of the same one
	answers    bool // a word that begins with @ names a file with more words
	stops      bool // what follows the first operand is no flag
	publicVars bool // harmless variables may stand in its words
	held       bool // a sandbox holds the command: words may come to anything
	// check looks at what a table cannot say.
	check func(a *args) (why string)
}

// anyText reports whether any word at all will do: no flag of the command does harm, and no operand is a file.
func (s spec) anyText() bool { return s.safe && s.operands == plain }

// operands says what the words are that are no flags.
type operands int

const (
	nothing  operands = iota // there are none
	plain                    // texts
	contents                 // files that are read
	listed                   // paths that are looked at, not into
	pattern                  // a text, then files that are read
	program                  // a program of the command's own language, then files that are read
)

// flagKind says what follows a flag.
type flagKind byte

const (
	bare     flagKind = ' '
	valued   flagKind = ':' // a value, in the word or the next one
	reading  flagKind = '@' // the same, a file that is read
	optional flagKind = '?' // perhaps a value in the word
	paired   flagKind = '+' // a name and a value, in the next two words
)

// flagSet is the flags of a command by name. "-#" stands for -20 and the like.
type flagSet map[string]flagKind

// parseFlags reads "-abc -n: -f@ --all --color? --format: -#": letters without a value may share a token, the sign
// after a name is its kind.
func parseFlags(s string) flagSet {
	set := flagSet{}
	for _, f := range strings.Fields(s) {
		kind := bare
		if last := flagKind(f[len(f)-1]); last == valued || last == reading || last == optional || last == paired {
			kind, f = last, f[:len(f)-1]
		}
		if strings.HasPrefix(f, "--") || f == "-#" || kind != bare {
			set[f] = kind
			continue
		}
		for i := 1; i < len(f); i++ {
			set["-"+f[i:i+1]] = bare
		}
	}
	return set
}

// flag is a flag of a call.
type flag struct {
	name  string
	value Word
}

// args are the words of a call, sorted.
type args struct {
	cmd      *Command
	flags    []flag
	operands []Word
	first    string // the first word
	apart    bool   // see spec
	held     bool   // see spec
	late     bool   // a flag stands behind an operand: not every command takes it for one
	ended    int    // operands from here on stand behind a --
}

func (a *args) has(names ...string) bool {
	for _, f := range a.flags {
		for _, n := range names {
			if f.name == n {
				return true
			}
		}
	}
	return false
}

// hasValue reports whether one of the named flags is given a value.
func (a *args) hasValue(value string, names ...string) bool {
	return slices.ContainsFunc(a.flags, func(f flag) bool { return f.value.Text == value && slices.Contains(names, f.name) })
}

// parseArgs sorts words into flags and operands as getopt does. why is not empty where a word is not known.
func parseArgs(c *Command, words []Word, set flagSet, s spec) (a *args, why string) {
	a = &args{cmd: c, ended: -1, apart: s.apart, held: s.held}
	if len(words) > 0 {
		a.first = words[0].Text
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if why := wordWhy(w, s.safe || a.ended >= 0); why != "" && !(w.Kind == AnyText && s.anyText()) && !s.held {
			return nil, why
		}
		if s.answers && !s.held && (strings.HasPrefix(w.Text, "@") || w.Kind == Glob && w.canBeFlag()) {
			return nil, w.Text + " may name a file whose name contains spaces"
		}
		if a.ended >= 0 || len(w.Text) < 2 || w.Text[0] != '-' {
			a.operands = append(a.operands, w)
			if s.stops && a.ended < 0 {
				a.ended = len(a.operands)
			}
			continue
		}
		if w.Text == "--" {
			a.ended = len(a.operands)
			continue
		}
		a.late = a.late || len(a.operands) > 0
		used, why := a.flag(w, words[i+1:], set)
		if why != "" {
			return nil, why
		}
		i += used
	}
	return a, ""
}

// parseExact sorts words into flags and operands where options are whole words. The value of one is a number, in its
// word or the next one.
func parseExact(c *Command, words []Word, set flagSet) (a *args, why string) {
	a = &args{cmd: c, ended: -1}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if why := wordWhy(w, false); why != "" {
			return nil, why
		}
		if len(w.Text) < 2 || w.Text[0] != '-' {
			a.operands = append(a.operands, w)
			continue
		}
		if len(a.operands) > 0 {
			return nil, "unknown option after the first file: " + w.Text
		}
		name := strings.TrimRight(w.Text, "0123456789")
		kind, known := set[w.Text]
		if !known && name != w.Text {
			kind, known = set[name], set[name] == valued
		}
		switch {
		case !known:
			return nil, "flag " + w.Text + " is not on the read-only list"
		case kind == valued && name == w.Text:
			if i++; i == len(words) || words[i].Kind != Literal || strings.Trim(words[i].Text, "0123456789abcdefx+-") != "" {
				return nil, "the value of " + w.Text + " is not a number"
			}
		}
		a.flags = append(a.flags, flag{name: name})
	}
	return a, ""
}

// wordWhy says why a word cannot stand in a harmless command.
func wordWhy(w Word, safe bool) string {
	switch {
	case w.Kind == Literal:
		return ""
	case w.Kind == Glob && (safe || !w.canBeFlag()):
		return ""
	case w.Kind == Glob:
		return "glob pattern " + w.Text + " may expand to a flag"
	}
	return notLiteral(w.Text)
}

// flag takes in the flag w. It returns how many of the next words were its value.
func (a *args) flag(w Word, next []Word, set flagSet) (used int, why string) {
	if strings.HasPrefix(w.Text, "--") {
		return a.longFlag(w, next, set)
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
		case rest != "" && a.apart:
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

func (a *args) longFlag(w Word, next []Word, set flagSet) (used int, why string) {
	name, value, attached := strings.Cut(w.Text, "=")
	kind, ok := set[name]
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

// flagSets are the parsed flags of all commands, made when the first command is judged.
var flagSets = sync.OnceValue(func() map[string]flagSet {
	sets := map[string]flagSet{}
	for name, s := range specs {
		sets[name] = parseFlags(s.flags)
		for f := range strings.FieldsSeq(s.exact) {
			option, number := strings.CutSuffix(f, ":")
			if sets[name][option] = bare; number {
				sets[name][option] = valued
			}
		}
	}
	for name, s := range gitSpecs {
		sets["git "+name] = parseFlags(s.flags)
	}
	return sets
})

// globSafe reports whether no flag of a command writes, runs or reaches.
func globSafe(name string) bool { return specs[name].safe }
