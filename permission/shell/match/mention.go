package match

import (
	"path"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
	"github.com/adze-dev/adze/permission/shell/prove"
)

// mentions gives visit the paths that a command names.
type mentions struct {
	visit  func(prove.Touch) bool
	all    bool // there are no others
	enough bool // visit wants no more
}

// Mentions gives visit the paths that the words and redirections of a command name, whatever it does with them, and
// reports whether these are all: a word that is not known may name any path. One long word may name as many long paths as
// it has letters, so they are not collected, and visit may report that it has had enough.
func Mentions(c *bash.Command, visit func(prove.Touch) bool) (all bool) {
	m := &mentions{visit: visit, all: true}
	for _, d := range c.Redirs {
		if d.File {
			m.all = m.all && d.Target.Kind == bash.Literal && d.Dirs != nil
			m.add(d.Dirs, prove.Touch{Path: d.Target.Text, Glob: d.Target.Kind == bash.Glob, Write: d.Write, Sure: true})
		}
	}
	for _, a := range c.Prefix {
		m.all = m.all && a.Value.Kind == bash.Literal
	}
	if len(c.Words) == 0 || slices.Contains([]string{"echo", "printf", "true", ":"}, c.Name()) {
		return m.all
	}
	m.all = m.all && c.Dirs != nil && !c.AddsArgs
	m.input(c)
	r := program.RunnerOf(c.Base())
	m.below(c, r)
	m.operands(c, r)
	for _, w := range c.Words[1:] {
		switch {
		case m.enough:
			return false
		case w.Kind > bash.Glob:
			m.all = false
		case r.Writes != "" && !strings.HasPrefix(w.Text, "-"):
		case w.Kind == bash.Glob:
			m.add(c.Dirs, prove.Touch{Path: w.Text, Glob: true})
		default:
			m.text(c, w.Text, program.Interprets(c))
		}
	}
	return m.all && !m.enough
}

// add gives visit a path in each of the directories that the command may run in.
func (m *mentions) add(dirs []string, t prove.Touch) {
	switch {
	case m.enough || t.Path == "" || strings.IndexByte(t.Path, 0) >= 0:
		return
	case path.IsAbs(t.Path):
		m.enough = !m.visit(t)
		return
	}
	name := t.Path
	for _, d := range dirs {
		if t.Path = prove.Join2(d, name); !m.enough {
			m.enough = !m.visit(t)
		}
	}
}

// input adds the paths in the text that a command is given as its input in the line itself. One that reads a program, or
// names of files, from elsewhere may use others.
func (m *mentions) input(c *bash.Command) {
	reads := program.ReadsProgram(c) || slices.ContainsFunc(c.Words[1:], func(w bash.Word) bool {
		name, _, _ := strings.Cut(w.Text, "=")
		return slices.Contains(listFlags, name)
	})
	unknown := reads
	for _, d := range c.Redirs {
		if strings.HasPrefix(d.Op, "<<") && (reads || program.Interprets(c)) {
			m.text(c, d.Target.Text, true)
			unknown = reads && d.Target.Kind != bash.Literal
		}
	}
	m.all = m.all && !unknown
}

// listFlags have a command read names of files from its input, or from a file.
var listFlags = strings.Fields("--batch --batch-check --stdin --stdin-paths --files0-from --files-from --pathspec-from-file --from-file")

// below adds the directories below which a well-known command reads or writes what its words do not name: what it packs,
// unpacks, restores or deletes.
func (m *mentions) below(c *bash.Command, r program.Runner) {
	reads, changes := given(c, r, r.Reads), given(c, r, r.Changes) && !given(c, r, r.Unless)
	elsewhere := given(c, r, r.Into)
	for i, w := range c.Words {
		if i == 0 {
			w = bash.Word{Text: "."} // the current directory
		}
		if strings.HasPrefix(w.Text, "-") || w.Kind != bash.Literal {
			continue
		}
		if reads && (i > 0 || r.Here) {
			m.add(c.Dirs, prove.Touch{Path: w.Text, Below: true, Vague: true})
		}
		if changes && (i > 0 || !elsewhere) {
			m.add(c.Dirs, prove.Touch{Path: w.Text, Below: true, Vague: true, Write: true})
		}
	}
	if c.Base() == "git" {
		for _, t := range prove.GitShown(c) {
			m.add(c.Dirs, t)
		}
	}
}

// operands adds what a well-known command reads and writes for sure, and the names that it gives files: cp a/.mcp.json .
// writes ./.mcp.json, curl -O and wget take the name from the address, and what is unpacked loses its ending.
func (m *mentions) operands(c *bash.Command, r program.Runner) {
	var places []int
	for i, w := range c.Words {
		if i > 0 && !strings.HasPrefix(w.Text, "-") && w.Kind <= bash.Glob {
			places = append(places, i)
		}
	}
	to, folder := target(c, r, places)
	below := c.Base() == "mv" || given(c, r, recursive)
	for n, i := range places {
		w := c.Words[i]
		glob := w.Kind == bash.Glob
		name := path.Base(w.Text)
		if r.Writes != "" {
			written := r.Writes == "all" || r.Writes == "rest" && n > 0 || r.Writes == "last" && (to == 0 || i == to)
			m.add(c.Dirs, prove.Touch{Path: w.Text, Glob: glob, Write: written, Below: below && !glob, Sure: true})
		}
		if r.Renames && i != to { // under another name, what is in it can be read
			m.add(c.Dirs, prove.Touch{Path: w.Text, Glob: glob, Sure: true})
			m.add(c.Dirs, prove.Touch{Path: w.Text, Glob: glob, Below: true, Vague: true})
		}
		if r.Copies && i != to && folder.Kind == bash.Literal {
			sure := to != places[len(places)-1] || len(places) > 2 || strings.HasSuffix(folder.Text, "/") || slices.Contains([]string{".", ".."}, path.Base(folder.Text))
			m.add(c.Dirs, prove.Touch{Path: prove.Join2(folder.Text, name), Glob: glob && strings.ContainsAny(name, "*?["), Write: true, InFolder: !sure})
		}
		if end := strings.IndexAny(w.Text+"?", "?#"); r.Fetches {
			m.add(c.Dirs, prove.Touch{Path: path.Base(w.Text[:end]), Write: true})
		}
		if end := strings.LastIndexAny(w.Text, ".-"); r.Strips && end > 0 {
			m.add(c.Dirs, prove.Touch{Path: w.Text[:end], Write: true})
		}
	}
}

// recursive are the flags with which well-known commands mean all below the directories they are given.
var recursive = []string{"-r", "-R", "-a", "--recursive", "--archive"}

// target is the directory or file that a command copies to, and the place of its word; 0: it is no operand.
func target(c *bash.Command, r program.Runner, operands []int) (int, bash.Word) {
	for i, w := range c.Words {
		_, value, attached := strings.Cut(w.Text, "=")
		switch isFlag := strings.HasPrefix(w.Text, "--t") || program.Cluster(w.Text) && strings.HasSuffix(w.Text, "t"); {
		case isFlag && attached:
			return 0, bash.Word{Text: value, Kind: w.Kind}
		case isFlag && i+1 < len(c.Words):
			return i + 1, c.Words[i+1]
		}
	}
	if len(operands) < 2 {
		return 0, bash.Word{Text: "."}
	}
	last := operands[len(operands)-1]
	return last, c.Words[last]
}

// text adds the paths that may stand in a word: itself, what follows = : @ or a short flag's letter, in a script of sed
// what follows a letter that reads or writes a file, and in a program every piece between quotes and brackets.
func (m *mentions) text(c *bash.Command, word string, code bool) {
	add := func(s string) {
		if len(s) > maxPath {
			s = path.Clean(s) // git makes one name of ./././name
		}
		if len(s) <= maxPath {
			m.add(c.Dirs, prove.Touch{Path: s})
		}
	}
	if !strings.HasPrefix(word, "-") {
		add(word)
	} else if len(word) > 2 && word[1] != '-' {
		for i := 2; i < min(len(word), maxGlued) && (i == 2 || program.IsLetter(word[i-1])); i++ {
			add(word[i:]) // sort -uosecret.txt
		}
	}
	isSed := strings.HasSuffix(c.Base(), "sed")
	for i := range len(word) {
		switch {
		case strings.IndexByte(joins, word[i]) >= 0:
			add(word[i+1:])
		case isSed && strings.IndexByte("rRwW", word[i]) >= 0:
			file, _, _ := strings.Cut(word[i+1:], "\n")
			add(strings.TrimLeft(file, " \t"))
		}
	}
	pieces := func(between string) {
		for s := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(between, r) }) {
			add(s)
		}
	}
	if pieces(joins); code {
		pieces(brackets)
	}
}

// maxGlued is how many short flags may stand in one word before the file that the last of them names.
const maxGlued = 10

// maxPath is the longest that a path can be: no system opens a longer one.
const maxPath = 4 << 10

// What a path may stand behind in a word, and what it stands between in a program.
const (
	joins    = "=:@,"
	brackets = "'\"`()[]{}<>,;=|&! \t\n"
)
