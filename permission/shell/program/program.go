// Package program is what is known of programs: programs.txt lists the read-only ones with their flags, runners.txt those
// that run others. It sorts the words of a command into flags and operands, and checks them.
package program

import (
	_ "embed"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
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

// must returns a table that is part of the program: a test reads it without an error.
func must[T any](table T, err error) T {
	if err != nil {
		panic(err)
	}
	return table
}

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

// readTable reads programs.txt or runners.txt: lines of NAMES: ATTRIBUTES make an entry each. detail takes in the indented
// lines below it.
func readTable[T any](text string, add func(names []string, entry *T), detail func(entry *T, line string)) error {
	var last *T
	for n, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '\t' {
			detail(last, line[1:])
			continue
		}
		last = new(T)
		names, attributes, _ := strings.Cut(line, ": ")
		for _, a := range strings.Fields(attributes) {
			if !setField(reflect.ValueOf(last).Elem(), a) {
				return fmt.Errorf("line %d: unknown attribute %s", n+1, a)
			}
		}
		add(strings.Split(names, ", "), last)
	}
	return nil
}

// Always stands for no flag in a list of flags: it is always given.
const Always = ""

// setField sets the field with the name of an attribute: NAME, NAME=TEXT, NAME=NUMBER or NAME=A,B. A list without a value is
// Always.
func setField(entry reflect.Value, attribute string) bool {
	name, value, valued := strings.Cut(attribute, "=")
	field := entry.FieldByNameFunc(func(f string) bool { return name == strings.ToLower(f) })
	if !field.CanSet() {
		return false
	}
	switch to := field.Addr().Interface().(type) {
	case *bool:
		*to = true
		return !valued
	case *string:
		*to = value
	case *int:
		*to, _ = strconv.Atoi(value)
	case *[]string:
		*to = strings.Split(value, ",")
	case *[][]string:
		*to = append(*to, strings.Split(value, ","))
	default:
		return false
	}
	return true
}
