package shell

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed programs.txt
var programsText string

// program is what is known of a read-only command: the flags with which it stays so, and what its operands are. The
// fields are described in programs.txt.
type program struct {
	flags                                 flagSet
	operands                              operands
	safe, raw, exact, expression, bundled bool
	apart, answers, stops, vars           bool
	literal, numbers, scratch             bool
	most, least                           int
	among, first, needs, unless           []string
	below, links                          []string // flags; alwaysFlag: without any
	named, ignores, paths, enforced       bool
	fallback                              string
	endings                               []string
	check                                 func(a *args) (why string)
	safeExamples, unsafeExamples          []string
}

// operands says what the words are that are no flags.
type operands int

const (
	noOperands operands = iota
	texts
	files   // are read
	names   // are looked at, not read
	pattern // a text, then files that are read
	script  // a program of the command's own language, then files that are read
)

var operandKinds = map[string]operands{"none": noOperands, "text": texts, "files": files, "names": names, "pattern": pattern, "script": script}

// programs are the read-only commands by name, "git log" among them; enforced are those that are read-only where a
// sandbox enforces it, if that differs.
type programs struct {
	plain, enforced map[string]*program
	subcommands     map[string]bool // the programs that have any
}

var readOnly = sync.OnceValue(func() programs {
	ps, err := parsePrograms(programsText)
	if err != nil {
		panic(err) // a test reads the same text
	}
	return ps
})

// find is the program of a name. held: a sandbox enforces that it only reads.
func (ps programs) find(name string, held bool) *program {
	if p := ps.enforced[name]; p != nil && held {
		return p
	}
	return ps.plain[name]
}

// has reports whether a program of this name may run without approval.
func (ps programs) has(name string) bool {
	return name == "git" || ps.plain[name] != nil || ps.enforced[name] != nil
}

// safe reports whether no flag of a program writes, runs or connects.
func (ps programs) safe(name string) bool { return ps.plain[name] != nil && ps.plain[name].safe }

// parsePrograms reads the text of programs.txt.
func parsePrograms(text string) (programs, error) {
	ps := programs{map[string]*program{}, map[string]*program{}, map[string]bool{}}
	var last *program
	for n, line := range strings.Split(text, "\n") {
		body, indented := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || line[0] == '#':
		case indented && strings.HasPrefix(body, "+ "):
			last.safeExamples = append(last.safeExamples, body[2:])
		case indented && strings.HasPrefix(body, "- "):
			last.unsafeExamples = append(last.unsafeExamples, body[2:])
		case indented:
			last.flags.add(body, last.exact)
		default:
			head, attributes, _ := strings.Cut(line, ": ")
			last = &program{flags: flagSet{}}
			for _, a := range strings.Fields(attributes) {
				if !last.attribute(a) {
					return ps, fmt.Errorf("line %d: unknown attribute %s", n+1, a)
				}
			}
			for _, name := range strings.Split(head, ", ") {
				if program, _, has := strings.Cut(name, " "); has {
					ps.subcommands[program] = true
				}
				if last.enforced {
					ps.enforced[name] = last
				} else {
					ps.plain[name] = last
				}
			}
		}
	}
	return ps, nil
}

// attribute sets a field by its name in programs.txt.
func (p *program) attribute(a string) bool {
	name, value, valued := strings.Cut(a, "=")
	if kind, ok := operandKinds[name]; ok {
		p.operands = kind
		return true
	}
	switches := map[string]*bool{
		"safe": &p.safe, "raw": &p.raw, "exact": &p.exact, "expression": &p.expression, "bundled": &p.bundled, "apart": &p.apart, "answers": &p.answers, "stops": &p.stops,
		"vars": &p.vars, "literal": &p.literal, "numbers": &p.numbers, "scratch": &p.scratch, "named": &p.named, "ignores": &p.ignores, "paths": &p.paths, "enforced": &p.enforced,
	}
	lists := map[string]*[]string{"among": &p.among, "first": &p.first, "needs": &p.needs, "unless": &p.unless, "below": &p.below, "links": &p.links, "endings": &p.endings}
	switch {
	case switches[name] != nil && !valued:
		*switches[name] = true
	case lists[name] != nil && valued:
		*lists[name] = strings.Split(value, ",")
	case (name == "below" || name == "links") && !valued:
		*lists[name] = []string{alwaysFlag}
	case name == "most":
		p.most, _ = strconv.Atoi(value)
	case name == "least":
		p.least, _ = strconv.Atoi(value)
	case name == "default":
		p.fallback = value
	case name == "check":
		p.check = checks[value]
		return p.check != nil
	default:
		return false
	}
	return true
}

// alwaysFlag stands for no flag: it is always given.
const alwaysFlag = ""

// flagKind says what follows a flag.
type flagKind byte

const (
	bare     flagKind = ' '
	valued   flagKind = ':' // a value, in the word or the next one
	reading  flagKind = '@' // the same, a file that is read
	counting flagKind = '%' // the same, a number
	optional flagKind = '?' // perhaps a value in the word
	paired   flagKind = '+' // a name and a value, in the next two words
)

// flagSet is the flags of a command by name. "-#" stands for -20 and the like.
type flagSet map[string]flagKind

// add reads flags in the notation of programs.txt. exact: -abc is one flag.
func (set flagSet) add(list string, exact bool) {
	for _, f := range strings.Fields(list) {
		kind := bare
		if last := flagKind(f[len(f)-1]); len(f) > 1 && strings.IndexByte(":@%?+", byte(last)) >= 0 {
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

// Vocabulary is every command that can be read-only with the flags that leave it so: "sort" and "git log" by name, flags
// as -a, -n VALUE, --color[=VALUE]. It is for documents and tests; judging needs more than flags.
func Vocabulary() map[string][]string {
	all := map[string][]string{"git": {}}
	for name, p := range readOnly().plain {
		flags := []string{}
		for f, kind := range p.flags {
			switch {
			case f == "-#":
				f = "-5"
			case kind == valued, kind == reading, kind == counting:
				f += " VALUE"
			case kind == optional && len(f) > 2:
				f += "[=VALUE]"
			case kind == optional:
				f += "[VALUE]"
			}
			flags = append(flags, f)
		}
		slices.Sort(flags)
		all[name] = flags
	}
	return all
}
