// Package form knows commands that obviously only read, by the form of their words: forms.txt lists them with all
// options.
package form

import (
	_ "embed"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/lazy"
	"github.com/adze-dev/adze/internal/engine/table"
	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

//go:embed forms.txt
var formsText string

// Reading is what a command reads that has one of the forms.
type Reading struct {
	Paths []Path
	Git   []string // the directories in which git runs
}

// Path is a path that is read.
type Path struct {
	Path  string // absolute and not resolved
	Names bool   // only names and attributes are read
	Below bool   // all below it is read too
}

// ReadsOnly reports whether a command has one of the forms, whatever its paths are.
func ReadsOnly(c *bash.Command) bool {
	_, why := Read(c)
	return why == ""
}

// Has reports whether there is a form of a program.
func Has(name string) bool { return forms()[name] != nil }

// Options returns the options of each program, with what follows them: see forms.txt.
func Options() map[string]map[string]byte {
	all := map[string]map[string]byte{}
	for name, f := range forms() {
		all[name] = f.options
	}
	return all
}

// Read returns what a command reads, or why it has none of the forms.
func Read(c *bash.Command) (Reading, string) {
	if why := surroundings(c); why != "" {
		return Reading{}, why
	}
	r := Reading{}
	for _, d := range c.Redirs {
		if d.File {
			r.add(c, Path{Path: d.Target.Text})
		}
	}
	for _, w := range c.Values { // they may be read in ways that aren't seen
		r.add(c, Path{Path: w.Text})
	}
	if c.Keyword || len(c.Words) == 0 {
		return r, ""
	}
	name, words := bash.SystemName(c.Name()), c.Words[1:]
	if name == "git" {
		return r.git(c, words)
	}
	f := forms()[name]
	if f == nil {
		return Reading{}, unlisted(name)
	}
	return r.read(c, f, name, words)
}

func unlisted(name string) string { return name + " is not on the read-only list" }

// surroundings returns what besides its words keeps a command from having a form.
func surroundings(c *bash.Command) string {
	switch {
	case c.Values == nil && (c.Place != bash.Plain || c.AddsArgs || c.MayRun || c.Doubtful):
		return "it is run by another command"
	case c.Dirs == nil:
		return "its working directory is unknown"
	}
	for by := c.By; by != nil && c.Values == nil; by = by.By { // a for runs nothing itself
		if f := forms()[by.Base()]; !by.Keyword && (f == nil || !f.Wraps) {
			return "it is run by " + by.Name()
		}
	}
	if len(c.Prefix) > 0 {
		return "it sets the variable " + c.Prefix[0].Name
	}
	for _, w := range slices.Concat(c.Words, c.Values) {
		if w.Kind != bash.Literal {
			return w.Text + " expands at run time, so its value can't be checked"
		}
	}
	for _, d := range c.Redirs {
		switch {
		case strings.Trim(d.Number, "0123456789") != "":
			return "it opens a file descriptor by name"
		case d.Write && d.File:
			return "it writes to " + d.Target.Text
		case d.File && d.Target.Kind != bash.Literal:
			return d.Target.Text + " expands at run time, so its value can't be checked"
		}
	}
	return ""
}

// git reads the words of git: its own options, then a subcommand.
func (r Reading) git(c *bash.Command, words []bash.Word) (Reading, string) {
	r.Git = c.Dirs
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
		switch {
		case words[0].Text == "--no-pager" || words[0].Text == "-P" || words[0].Text == "--version":
		case words[0].Text == "-C" && len(words) > 1:
			words = words[1:]
			r.add(c, Path{Path: words[0].Text, Names: true})
			r.Git = bash.Each(r.Git, words[0].Text)
		default:
			return Reading{}, "git " + words[0].Text + " is not on the read-only list"
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return r, ""
	}
	f := forms()["git "+words[0].Text]
	if f == nil {
		return Reading{}, unlisted("git " + words[0].Text)
	}
	at := *c
	at.Dirs = r.Git
	return r.read(&at, f, "git "+words[0].Text, words[1:])
}

// read reads the words of a command with a form.
func (r Reading) read(c *bash.Command, f *form, name string, words []bash.Word) (Reading, string) {
	a := parsed{form: f, below: f.Below}
	if why := a.parse(words); why != "" {
		return Reading{}, name + " " + why
	}
	operands := a.operands
	if f.Pattern && !a.has("-e", "--regexp", "-f", "--files", "--type-list") {
		operands = operands[min(1, len(operands)):]
	}
	if f.Files || f.Names || f.Pattern {
		if len(operands) == 0 && (f.Here || a.below && !f.Below) {
			operands = []string{"."}
		}
		for _, o := range append(operands, a.files...) {
			if r.Git != nil && (strings.ContainsAny(o, "*?[\\") || strings.HasPrefix(o, ":")) {
				return Reading{}, "a pathspec may mean any file"
			}
			r.add(c, Path{Path: o, Names: f.Names, Below: a.below})
			if _, inTree, ok := strings.Cut(o, ":"); ok && r.Git != nil { // HEAD:file
				r.add(c, Path{Path: inTree})
			}
		}
	}
	return r, ""
}

// add adds a path in each directory that the command may run in.
func (r *Reading) add(c *bash.Command, p Path) {
	if p.Path == "" || p.Path == "-" {
		return
	}
	for _, path := range bash.Each(c.Dirs, p.Path) {
		p.Path = path
		r.Paths = append(r.Paths, p)
	}
}

// form is a row of forms.txt. The exported fields are its attributes, which are described there.
type form struct {
	None, Text, Files, Names, Pattern, Wraps bool // what the operands are
	Below, Here, Exact, Stops, Dashes        bool
	Most                                     int // operands; 0: any number
	Not                                      string

	options          map[string]byte
	operands, banned func() *regexp.Regexp // nil: any
	example, counter string
}

var forms = sync.OnceValue(func() map[string]*form {
	all := map[string]*form{}
	for _, line := range table.Must(table.Lines(formsText, 40)) {
		list, f := parseForm(line.Text)
		for _, name := range list {
			if all[name] != nil {
				panic("forms.txt: twice: " + name)
			}
			all[name] = f
		}
	}
	return all
})

// parseForm reads NAMES: KIND OPTIONS ~ OPERANDS | EXAMPLE | COUNTER-EXAMPLE. It panics on a row that isn't valid.
func parseForm(line string) (list []string, f *form) {
	names, rest, _ := strings.Cut(line, ": ")
	parts := strings.Split(rest, " | ")
	n := len(parts)
	f = &form{options: map[string]byte{}, example: parts[n-2], counter: parts[n-1]}
	fields, condition, has := strings.Cut(strings.Join(parts[:n-2], " | "), " ~ ")
	if before, not, found := strings.Cut(condition, " not="); found {
		condition, fields = before, fields+" not="+not
	}
	if has {
		f.operands = lazy.Regexp(condition)
	}
	for field := range strings.FieldsSeq(fields) {
		if field[0] == '-' {
			f.addOptions(field)
		} else if !program.SetField(reflect.ValueOf(f).Elem(), field) {
			panic("forms.txt: unknown attribute " + field)
		}
	}
	if !(f.None || f.Text || f.Files || f.Names || f.Pattern || f.Wraps) {
		panic("forms.txt: no kind of operands: " + line)
	}
	if f.Not != "" {
		f.banned = lazy.Regexp(f.Not)
	}
	return strings.Split(names, ", "), f
}

// addOptions reads -abc, -n:, --all or --file@.
func (f *form) addOptions(field string) {
	takes := byte(' ')
	if last := field[len(field)-1]; strings.IndexByte(":@?*", last) >= 0 {
		takes, field = last, field[:len(field)-1]
	}
	if f.Exact || strings.HasPrefix(field, "--") || takes != ' ' || len(field) == 2 {
		f.options[field] = takes
		return
	}
	for _, letter := range field[1:] {
		f.options["-"+string(letter)] = ' '
	}
}

// parsed are the words of a command, sorted into options and operands.
type parsed struct {
	*form
	given    []string
	operands []string
	files    []string // values of options that are read
	below    bool
}

func (a *parsed) has(options ...string) bool {
	return slices.ContainsFunc(options, func(o string) bool { return slices.Contains(a.given, o) })
}

// parse sorts the words. It returns why they don't have the form.
func (a *parsed) parse(words []bash.Word) string {
	ended := false
	for i := 0; i < len(words); i++ {
		w := words[i].Text
		next := ""
		if i+1 < len(words) {
			next = words[i+1].Text
		}
		switch isOption := len(w) > 1 && w[0] == '-' && !ended; {
		case a.banned != nil && a.banned().MatchString(w):
			return "with " + w + " is not on the read-only list"
		case isOption && w == "--" && !a.Exact:
			ended = true
		case isOption:
			used, ok := a.option(w, next, i+1 < len(words))
			if !ok && a.Dashes {
				a.operands, ended = append(a.operands, w), true
				break
			}
			if !ok {
				return "with " + w + " is not on the read-only list"
			}
			i += used
		case a.Wraps: // the command begins here, after what the form describes
			a.operands, i = append(a.operands, w), len(words)
		default:
			a.operands = append(a.operands, w)
			ended = ended || a.Stops
		}
	}
	checked := strings.Join(a.operands, " ")
	if a.Pattern {
		checked = strings.Join(a.operands[:min(1, len(a.operands))], "")
		if a.form.operands != nil && a.has("-e") {
			return "with -e is not on the read-only list"
		}
	}
	switch {
	case a.None && a.form.operands == nil && len(a.operands) > 0, a.Most > 0 && len(a.operands) > a.Most:
		return "with these operands is not on the read-only list"
	case a.form.operands != nil && !a.form.operands().MatchString(checked):
		return "with these words is not on the read-only list"
	}
	return ""
}

// option reads a word with options. used is the number of words after it that are values.
func (a *parsed) option(w, next string, more bool) (used int, ok bool) {
	if a.Exact || strings.HasPrefix(w, "--") {
		name, value, attached := w, "", false
		if !a.Exact {
			name, value, attached = strings.Cut(w, "=")
		}
		takes, known := a.options[name]
		if !known || attached && strings.IndexByte(" *", takes) >= 0 {
			return 0, false
		}
		return a.take(name, takes, value, attached, next, more)
	}
	if a.options["-#"] != 0 && strings.Trim(w[1:], "0123456789") == "" {
		return 0, true
	}
	for i := 1; i < len(w); i++ {
		name := "-" + w[i:i+1]
		takes, known := a.options[name]
		if !known {
			return 0, false
		}
		used, ok = a.take(name, takes, w[i+1:], i+1 < len(w), next, more)
		if strings.IndexByte(" *", takes) < 0 { // the rest of the word is its value
			return used, ok
		}
	}
	return 0, true
}

// take records an option with its value, which is attached or the next word.
func (a *parsed) take(name string, takes byte, value string, attached bool, next string, more bool) (int, bool) {
	a.given = append(a.given, name)
	a.below = a.below || takes == '*'
	used := 0
	if !attached && (takes == ':' || takes == '@') {
		value, used = next, 1
	}
	if takes == '@' {
		a.files = append(a.files, value)
	}
	return used, used == 0 || more
}
