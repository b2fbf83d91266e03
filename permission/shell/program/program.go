// Package program is what is known of programs: programs.txt lists the read-only ones with their flags, runners.txt those
// that run others. It sorts the words of a command into flags and operands, and checks them.
package program

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

//go:embed programs.txt
var programsText string

// Program is what is known of a read-only command: the flags with which it stays so, and what its operands are. The
// fields are described in programs.txt.
type Program struct {
	Flags                                  flagSet
	Operands                               operands
	Raw, Named, Ignores, Enforced          bool
	safe, exact, expression, stops, quoted bool
	vars, literal, scratch                 bool
	most                                   int
	Below, Links                           []string // flags; Always: without any
	Fallback                               string
	Endings                                []string
	form, ban                              pattern
	SafeExamples, UnsafeExamples           []string
}

// operands says what the words are that are no flags.
type operands int

// What operands are.
const (
	NoOperands operands = iota
	Texts
	files   // are read
	Names   // are looked at, not read
	Pattern // a text, then files that are read
	Script  // a program of the command's own language, then files that are read
)

var operandKinds = map[string]operands{"none": NoOperands, "text": Texts, "files": files, "names": Names, "pattern": Pattern, "script": Script}

// pattern is a regular expression that is compiled when it is needed.
type pattern struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// or adds an alternative.
func (p *pattern) or(text string) { p.text = strings.TrimPrefix(p.text+"|"+text, "|") }

// find is what the pattern matches in s; nil: nothing.
func (p *pattern) find(s string) *string {
	if p.text == "" {
		return nil
	}
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.text) })
	at := p.compiled.FindStringIndex(s)
	if at == nil {
		return nil
	}
	found := s[at[0]:at[1]]
	return &found
}

// Programs are the read-only commands by name, "git log" among them; enforced are those that are read-only where a
// sandbox enforces it, if that differs.
type Programs struct {
	Plain, Enforced map[string]*Program
	Subcommands     map[string]bool // the Programs that have any
}

// ReadOnly is what programs.txt says.
var ReadOnly = sync.OnceValue(func() Programs {
	ps, err := parsePrograms(programsText)
	if err != nil {
		panic(err) // a test reads the same text
	}
	return ps
})

// Find is the program of a name. held: a sandbox enforces that it only reads.
func (ps Programs) Find(name string, held bool) *Program {
	if p := ps.Enforced[name]; p != nil && held {
		return p
	}
	return ps.Plain[name]
}

// Has reports whether a program of this name may run without approval.
func (ps Programs) Has(name string) bool {
	return name == "git" || ps.Plain[name] != nil || ps.Enforced[name] != nil
}

// Safe reports whether no flag of a program writes, runs or connects.
func (ps Programs) Safe(name string) bool { return ps.Plain[name] != nil && ps.Plain[name].safe }

// parsePrograms reads the text of programs.txt.
func parsePrograms(text string) (Programs, error) {
	ps := Programs{map[string]*Program{}, map[string]*Program{}, map[string]bool{}}
	var last *Program
	for n, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if body, indented := strings.CutPrefix(line, "\t"); indented {
			last.detail(body)
			continue
		}
		head, attributes, _ := strings.Cut(line, ": ")
		last = &Program{Flags: flagSet{}}
		for _, a := range strings.Fields(attributes) {
			if !last.attribute(a) {
				return ps, fmt.Errorf("line %d: unknown attribute %s", n+1, a)
			}
		}
		for _, name := range strings.Split(head, ", ") {
			if program, _, has := strings.Cut(name, " "); has {
				ps.Subcommands[program] = true
			}
			if last.Enforced {
				ps.Enforced[name] = last
			} else {
				ps.Plain[name] = last
			}
		}
	}
	return ps, nil
}

// detail takes in an indented line of programs.txt: flags, a form, an example.
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
		p.Flags.add(line, p.exact)
	}
}

// attribute sets a field by its name in programs.txt.
func (p *Program) attribute(a string) bool {
	name, value, valued := strings.Cut(a, "=")
	if kind, ok := operandKinds[name]; ok {
		p.Operands = kind
		return true
	}
	switches := map[string]*bool{
		"safe": &p.safe, "raw": &p.Raw, "exact": &p.exact, "expression": &p.expression, "stops": &p.stops, "vars": &p.vars, "quoted": &p.quoted,
		"literal": &p.literal, "scratch": &p.scratch, "named": &p.Named, "ignores": &p.Ignores, "enforced": &p.Enforced,
	}
	lists := map[string]*[]string{"below": &p.Below, "links": &p.Links, "endings": &p.Endings}
	switch {
	case switches[name] != nil && !valued:
		*switches[name] = true
	case lists[name] != nil:
		*lists[name] = strings.Split(value, ",") // without a value: Always
	case name == "most":
		p.most, _ = strconv.Atoi(value)
	case name == "default":
		p.Fallback = value
	case name == "sed":
		p.form.text = sedScript()
	default:
		return false
	}
	return true
}

// Always stands for no flag: it is always given.
const Always = ""

// flagKind says what follows a flag.
type flagKind byte

const (
	bare     flagKind = ' '
	valued   flagKind = ':' // a value, in the word or the next one
	Reading  flagKind = '@' // the same, a file that is read
	optional flagKind = '?' // perhaps a value in the word
	paired   flagKind = '+' // a name and a value, in the next two words
)

// flagSet is the flags of a command by name. "-#" stands for -20 and the like.
type flagSet map[string]flagKind

// add reads flags in the notation of programs.txt. exact: -abc is one flag.
func (set flagSet) add(list string, exact bool) {
	for _, f := range strings.Fields(list) {
		kind := bare
		if last := flagKind(f[len(f)-1]); len(f) > 1 && strings.IndexByte(":@?+", byte(last)) >= 0 {
			kind, f = last, f[:len(f)-1]
		}
		if exact || strings.HasPrefix(f, "--") || f == "-#" || kind != bare {
			set[f] = kind
			continue
		}
		for i := 1; i < len(f); i++ {
			set["-"+f[i:i+1]] = bare
		}
	}
}
