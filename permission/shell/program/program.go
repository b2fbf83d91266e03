// Package program is what is known of programs: programs.txt lists the read-only ones with their flags, runners.txt those
// that run others. It sorts the words of a command into flags and operands, and checks them.
package program

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

//go:embed programs.txt
var programsText string

// Program is what is known of a read-only command: the flags with which it is read-only, and what its operands are. The
// fields are described in programs.txt.
type Program struct {
	None, Text, Files, Names, Pattern, Script bool // what operands are

	Raw, Named, Ignores, Enforced, Objects bool
	Safe, Exact, Expression, Stops         bool
	Vars, Scratch, Sed, Variable           bool
	Most                                   int
	Below, Links, Endings, Chooses         []string
	Default                                string

	Flags                        map[string]flagKind // "-#" stands for -20 and the like
	form, ban                    pattern
	SafeExamples, UnsafeExamples []string
}

// pattern is a regular expression that is compiled when it is needed.
type pattern struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// or adds an alternative.
func (p *pattern) or(text string) { p.text = strings.TrimPrefix(p.text+"|"+text, "|") }

// matches reports whether the pattern matches something in s.
func (p *pattern) matches(s string) bool {
	if p.text == "" {
		return false
	}
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.text) })
	return p.compiled.MatchString(s)
}

// Programs are the read-only commands by name, "git log" among them; enforced are those that are read-only where a
// sandbox enforces it, if that differs.
type Programs struct {
	Plain, Enforced map[string]*Program
}

// ReadOnly is what programs.txt says.
var ReadOnly = sync.OnceValue(func() Programs { return must(parsePrograms(programsText)) })

// Find is the program of a name. held: a sandbox enforces that it only reads.
func (ps Programs) Find(name string, held bool) *Program {
	if p := ps.Enforced[name]; p != nil && held {
		return p
	}
	return ps.Plain[name]
}

// Has reports whether a program of this name may run without approval.
func (ps Programs) Has(name string) bool {
	return ps.Plain[name] != nil || ps.Enforced[name] != nil
}

// Safe reports whether no flag of a program writes, runs or connects.
func (ps Programs) Safe(name string) bool { return ps.Plain[name] != nil && ps.Plain[name].Safe }

// parsePrograms reads the text of programs.txt.
func parsePrograms(text string) (Programs, error) {
	ps := Programs{map[string]*Program{}, map[string]*Program{}}
	err := readTable(text, func(names []string, p *Program) {
		p.Flags = map[string]flagKind{}
		if p.Sed {
			p.form.text = sedScript()
		}
		for _, name := range names {
			if p.Enforced {
				ps.Enforced[name] = p
			} else {
				ps.Plain[name] = p
			}
		}
	}, (*Program).detail)
	return ps, err
}

// detail adds an indented line of programs.txt: flags, a form, an example.
func (p *Program) detail(line string) {
	sign, rest, _ := strings.Cut(line, " ")
	switch sign {
	case "+":
		p.SafeExamples = append(p.SafeExamples, rest)
	case "-":
		p.UnsafeExamples = append(p.UnsafeExamples, rest)
	case "~":
		p.form.or("^(?:" + strings.ReplaceAll(rest, " ", `\n`) + ")$")
	case "!~":
		p.ban.or(rest)
	default:
		p.addFlags(line)
	}
}

// flagKind says what follows a flag.
type flagKind byte

const (
	bare     flagKind = ' '
	valued   flagKind = ':' // a value, in the word or the next one
	Reading  flagKind = '@' // the same, a file that is read
	optional flagKind = '?' // perhaps a value in the word
	paired   flagKind = '+' // a name and a value, in the next two words
	running  flagKind = ';' // a command, up to a ; or {} +
)

// addFlags reads flags in the notation of programs.txt.
func (p *Program) addFlags(list string) {
	for _, f := range strings.Fields(list) {
		kind := bare
		if last := flagKind(f[len(f)-1]); len(f) > 1 && strings.IndexByte(":@?+;", byte(last)) >= 0 {
			kind, f = last, f[:len(f)-1]
		}
		if p.Exact || strings.HasPrefix(f, "--") || f == "-#" || kind != bare {
			p.Flags[f] = kind
			continue
		}
		for i := 1; i < len(f); i++ {
			p.Flags["-"+f[i:i+1]] = bare
		}
	}
}
