package match

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

// mentions gives visit the paths that a command names.
type mentions struct {
	*bash.Command
	program.Runner
	visit   func(Touch) bool
	certain Certainty // of the paths in a text
	all     bool      // there are no others
	enough  bool      // visit wants no more
}

// Mentions gives visit the paths that the words and redirections of a command name, whatever it does with them, and
// reports whether these are all: an unknown word may name any path. One long word may name as many long paths as it has
// letters, so they are not collected, and visit may return false to stop.
func Mentions(c *bash.Command, visit func(Touch) bool) (all bool) {
	m := &mentions{Command: c, Runner: program.RunnerOf(c.Base()), visit: visit, all: true}
	for _, d := range c.Redirs {
		if d.File {
			m.all = m.all && d.Target.Kind == bash.Literal && d.Dirs != nil
			m.add(d.Dirs, Touch{Path: d.Target.Text, Glob: d.Target.Kind == bash.Glob, Writes: d.Write, Certain: Sure})
		}
	}
	m.values()
	m.all = m.all && !slices.ContainsFunc(c.Prefix, func(a bash.Assign) bool { return a.Value.Kind != bash.Literal })
	if len(c.Words) == 0 || slices.Contains([]string{"echo", "printf", "true", ":"}, c.Name()) {
		return m.all
	}
	m.all = m.all && c.Dirs != nil && !c.AddsArgs
	m.input()
	m.files()
	for _, w := range c.Words[1:] {
		switch {
		case m.enough:
			return false
		case w.Kind > bash.Glob:
			m.all = false
		case m.Writes != "" && !strings.HasPrefix(w.Text, "-"): // one of its files
		case w.Kind == bash.Glob:
			m.add(m.Dirs, Touch{Path: w.Text, Glob: true})
		default:
			m.text(w.Text, program.RunsOf(c).Interprets)
		}
	}
	return m.all && !m.enough
}

// add gives visit a path in each of the directories that it may be in.
func (m *mentions) add(dirs []string, t Touch) {
	name := t.Path
	if len(name) > maxPath {
		name = path.Clean(name) // git makes one name of ./././name
	}
	if name == "" || len(name) > maxPath || strings.IndexByte(name, 0) >= 0 {
		return
	}
	if isAbs(dirs, name) {
		dirs = append(dirs[:len(dirs):len(dirs)], "/")[:1]
	}
	for _, d := range dirs {
		t.Path = join(d, name)
		m.enough = m.enough || !m.visit(t)
	}
}

// excludes matches pathspecs of files that git leaves out.
var excludes = regexp.MustCompile(`^:[!^]|^:\([^)]*exclude`)

// values adds what variables are set to: it may be read in ways that aren't seen.
func (m *mentions) values() {
	values := slices.Clone(m.Command.Values)
	for i := 0; i < len(m.Prefix) && len(m.Words) == 0; i++ {
		values = append(values, m.Prefix[i].Value)
	}
	for _, w := range values {
		if w.Kind <= bash.Glob {
			m.add(m.Dirs, Touch{Path: w.Text, Glob: w.Kind == bash.Glob})
		}
	}
}

// pathspecs adds the paths in words of git that it counts from the top of the repository, such as HEAD:file, and its own
// patterns.
func (m *mentions) pathspecs() {
	for _, w := range m.Words[1:] {
		if strings.ContainsAny(w.Text, "*?[") && w.Kind == bash.Literal && !strings.HasPrefix(w.Text, "-") {
			m.add(m.Dirs, Touch{Path: w.Text, Glob: true})
		}
		if excludes.MatchString(w.Text) {
			continue
		}
		_, path, ok := strings.Cut(w.Text, ":")
		if magic, rest, has := strings.Cut(path, ")"); has && strings.HasPrefix(magic, "(") {
			path = rest
		}
		if ok && m.Start != "" {
			m.add([]string{m.Start}, Touch{Path: strings.TrimLeft(path, "/")})
		}
	}
}

// input adds the paths in the input that the line gives a command. A command that reads a program, or names of files, from
// elsewhere may use others.
func (m *mentions) input() {
	reads := program.ReadsProgram(m.Command) || slices.ContainsFunc(m.Words[1:], func(w bash.Word) bool {
		name, _, _ := strings.Cut(w.Text, "=")
		return slices.Contains(program.RunnerOf("*").Lists, name)
	})
	input := m.Command.Input()
	if input != nil && (reads || program.RunsOf(m.Command).Interprets) {
		if input == m.Stdin {
			m.certain = Vague
		}
		m.text(input.Text, true)
		m.certain = Named
	}
	m.all = m.all && !(reads && (input == nil || input.Kind != bash.Literal))
}

// files adds what a well-known command does with files: what it reads and writes for sure, what it may read or write below
// its operands or the current directory, and the files that it makes under other names.
func (m *mentions) files() {
	has := func(flags []string) bool { return given(m.Command, m.Runner, flags) }
	reads, changes := has(m.Reads), has(m.Changes) && !has(m.Unless)
	below := func(w bash.Word, touched, write bool) {
		if touched {
			m.add(m.Dirs, Touch{Path: w.Text, Glob: w.Kind == bash.Glob, Writes: write, Scope: Below, Certain: Vague})
		}
	}
	below(bash.Word{Text: "."}, reads && m.Here, false)
	below(bash.Word{Text: "."}, changes && !has(m.Into), true)
	operands := slices.Clone(m.Words[1:])
	operands = slices.DeleteFunc(operands, func(w bash.Word) bool { return strings.HasPrefix(w.Text, "-") || w.Kind > bash.Glob })
	to, isDir := m.target(operands)
	for i, w := range operands {
		t := Touch{Path: w.Text, Glob: w.Kind == bash.Glob, Certain: Sure}
		renames := m.Renames && w != to // under another name, what is in it can be read
		if renames {
			m.add(m.Dirs, t)
		}
		below(w, reads || renames, false)
		below(w, changes, true)
		made := m.made(w.Text, to.Text)
		copied := Touch{Path: made, Writes: true, Inside: m.Copies && !isDir}
		if strings.ContainsAny(path.Base(made), "*?[") {
			copied.Glob = t.Glob
		}
		m.add(m.Dirs, copied)
		if m.Writes != "" {
			t.Writes = m.Runner.Writes == "all" || m.Runner.Writes == "rest" && i > 0 || m.Runner.Writes == "last" && (w == to || !slices.Contains(operands, to))
			if !t.Glob && has(m.Deep) {
				t.Scope = Below
			}
			m.add(m.Dirs, t)
		}
	}
	if m.Base() == "git" {
		m.pathspecs()
		for _, t := range gitShown(m.Command) {
			m.add(m.Dirs, t)
		}
	}
}

// target is where a command copies files to: the value of -t, which is a directory, or the last operand.
func (m *mentions) target(operands []bash.Word) (to bash.Word, isDir bool) {
	for i, w := range m.Words {
		name, value, attached := strings.Cut(w.Text, "=")
		switch isFlag := strings.HasPrefix(name, "--t") || program.Cluster(name) && strings.HasSuffix(name, "t"); {
		case isFlag && attached:
			return bash.Word{Text: value, Kind: w.Kind}, true
		case isFlag && i+1 < len(m.Words):
			return m.Words[i+1], true
		}
	}
	if len(operands) < 2 {
		return bash.Word{Text: "./"}, true
	}
	to = operands[len(operands)-1]
	return to, len(operands) > 2 || strings.HasSuffix(to.Text, "/") || strings.HasSuffix(to.Text, ".")
}

// made is the file that a command makes of another under a name that is not among its words; "": none. cp a/.mcp.json .
// writes ./.mcp.json, curl -O and wget take the name from the address, and what is unpacked loses its ending.
func (m *mentions) made(file, to string) string {
	switch {
	case m.Copies && file != to:
		return join(to, path.Base(file))
	case m.Fetches:
		return path.Base(file[:strings.IndexAny(file+"?", "?#")])
	case m.Strips:
		return file[:max(0, strings.LastIndexAny(file, ".-"))]
	}
	return ""
}

// text adds the paths that may stand in a word: itself, what follows = : @ or a short flag's letter, in a script of sed
// what follows a letter that reads or writes a file, and in a program every piece between quotes and brackets.
func (m *mentions) text(word string, isProgram bool) {
	add := func(name string) { m.add(m.Dirs, Touch{Path: name, Certain: m.certain, Part: name != word}) }
	isSed := strings.HasSuffix(m.Base(), "sed")
	isGlued := len(word) > 2 && word[0] == '-' && word[1] != '-' // sort -uosecret.txt
	for i := 1; i < len(word); i++ {
		rest := word[i:]
		isGlued = isGlued && i < maxGlued && (i <= 2 || program.IsLetter(word[i-1]))
		switch {
		case isGlued && i >= 2, len(rest) <= maxPath && strings.IndexByte(joins, word[i-1]) >= 0:
			add(rest)
		case isSed && strings.IndexByte("rRwW", word[i-1]) >= 0:
			if file, _, _ := strings.Cut(rest[:min(len(rest), maxPath+1)], "\n"); len(file) <= maxPath {
				add(strings.TrimLeft(file, " \t"))
			}
		}
	}
	separators := []string{"", joins, brackets}
	if !isProgram {
		separators = separators[:2]
	}
	for _, between := range separators {
		for s := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(between, r) }) {
			add(s)
		}
	}
}

const (
	maxGlued = 10                        // short flags in one word before the file that the last of them names
	maxPath  = 4 << 10                   // bytes of a path: no system opens a longer one
	joins    = "=:@,"                    // what may come before a path in a word
	brackets = "'\"`()[]{}<>,;=|&! \t\n" // what is around a path in a program
)

// NeedsNetwork reports whether a command is known to need the network.
func NeedsNetwork(c *bash.Command) bool {
	r := program.RunnerOf(c.Base())
	if slices.Contains(r.Network, program.Always) {
		return true
	}
	words := c.Words[min(1, len(c.Words)):]
	if c.Base() == "git" {
		_, words = splitGit(words)
	}
	i := slices.IndexFunc(words, func(w bash.Word) bool { return !strings.HasPrefix(w.Text, "-") })
	return i >= 0 && slices.Contains(r.Network, words[i].Text)
}
