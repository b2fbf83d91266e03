// Package program is what is known of programs: programs.txt lists the read-only ones with their flags, runners.txt those
// that run others. It sorts the words of a command into flags and operands, and checks them.
package program

import (
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/table"
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
var ReadOnly = sync.OnceValue(func() Programs { return table.Must(parsePrograms(programsText, 800)) })

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

// parsePrograms reads the text of programs.txt, which has at least a number of lines.
func parsePrograms(text string, least int) (Programs, error) {
	ps := Programs{map[string]*Program{}, map[string]*Program{}}
	err := readTable(text, least, func(names []string, p *Program) error {
		p.Flags = map[string]flagKind{}
		if p.Sed {
			p.form.text = sedScript()
		}
		to := ps.Plain
		if p.Enforced {
			to = ps.Enforced
		}
		for _, name := range names {
			if to[name] != nil {
				return fmt.Errorf("%s is already in the table", name)
			}
			to[name] = p
		}
		return nil
	}, (*Program).detail)
	return ps, err
}

// detail adds an indented line of programs.txt: flags, a form, an example.
func (p *Program) detail(line string) error {
	sign, rest, _ := strings.Cut(line, " ")
	if slices.Contains([]string{"+", "-", "~", "!~"}, sign) && strings.TrimSpace(rest) == "" {
		return fmt.Errorf("nothing after %s", sign)
	}
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
		return p.addFlags(line)
	}
	return nil
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
func (p *Program) addFlags(list string) error {
	for f := range strings.SplitSeq(list, " ") {
		if f == "" || f[0] != '-' && !p.Expression || strings.Contains(f, "\t") {
			return fmt.Errorf("%q is not a flag", f)
		}
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
	return nil
}

// readTable reads programs.txt or runners.txt: lines of NAMES: ATTRIBUTES make an entry each. detail takes in the indented
// lines below it; nil: there are none.
func readTable[T any](text string, least int, add func(names []string, entry *T) error, detail func(entry *T, line string) error) error {
	lines, err := table.Lines(text, least)
	if err != nil {
		return err
	}
	var last *T
	for _, line := range lines {
		rest, indented := strings.CutPrefix(line.Text, "\t")
		switch {
		case !indented:
			last = new(T)
			err = readEntry(line.Text, last, add)
		case last == nil || detail == nil:
			err = errors.New("an indented line without an entry")
		default:
			err = detail(last, rest)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", line.Number, err)
		}
	}
	return nil
}

// readEntry reads NAMES: ATTRIBUTES.
func readEntry[T any](line string, entry *T, add func(names []string, entry *T) error) error {
	text, attributes, found := strings.Cut(line, ": ")
	names := strings.Split(text, ", ")
	if !found || slices.Contains(names, "") {
		return errors.New("not NAMES: ATTRIBUTES")
	}
	for a := range strings.SplitSeq(attributes, " ") {
		if !setField(reflect.ValueOf(entry).Elem(), a) {
			return fmt.Errorf("unknown attribute %q", a)
		}
	}
	return add(names, entry)
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
		return value != ""
	case *int:
		n, err := strconv.Atoi(value)
		*to = n
		return err == nil
	case *[]string:
		*to = strings.Split(value, ",")
	case *[][]string:
		*to = append(*to, strings.Split(value, ","))
	default:
		return false
	}
	return true
}
