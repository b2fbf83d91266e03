package match

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

// Touch is a path that the words of a command name.
type Touch struct {
	Path   string // absolute and not resolved: links and .. are still in it
	Glob   bool   // it is a pattern of the shell
	Writes bool   // the command changes or creates it; otherwise it reads it
	Inside bool   // it is touched only if its parent is a directory
	Part   bool   // it is only a part of a word, and may be no path
	Sure   bool   // it is touched if the command runs
	Edits  bool   // so it is, and a trial shows how
	Vague  bool   // unknown files are, if any: in a text, or below it
	Below  bool   // all below it is touched too
	Index  bool   // what git has there, in its index and its commits; unless Sure, pathspecs may exclude some
}

// mentions gives visit the paths that a command names.
type mentions struct {
	*bash.Command
	program.Runner
	visit  func(Touch) bool
	vague  bool // so are the paths in a text
	all    bool // there are no others
	enough bool // visit wants no more
}

// Mentions gives visit the paths that the words and redirections of a command name, whatever it does with them, and
// reports whether these are all: an unknown word may name any path. One long word may name as many long paths as it has
// letters, so they are not collected, and visit may return false to stop.
func Mentions(c *bash.Command, visit func(Touch) bool) (all bool) {
	m := &mentions{Command: c, Runner: program.RunnerOf(c.Base()), visit: visit, all: true}
	for _, d := range c.Redirs {
		if d.File {
			m.all = m.all && d.Target.Kind == bash.Literal && d.Dirs != nil
			m.add(d.Dirs, Touch{Path: d.Target.Text, Glob: d.Target.Kind == bash.Glob, Writes: d.Write, Sure: true})
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
	if dirs == nil {
		if _, abs := bash.Abs("/", name); !abs {
			return
		}
		dirs = []string{"/"}
	}
	for _, path := range bash.Each(dirs, name) {
		t.Path = path
		m.enough = m.enough || !m.visit(t)
	}
}

// excludes matches pathspecs of files that git omits.
var excludes = regexp.MustCompile(`^:[!^]|^:\([^)]*exclude`)

// values adds what variables are set to: it may be read in ways that aren't seen.
func (m *mentions) values() {
	values := slices.Clone(m.Command.Values)
	for i := 0; i < len(m.Prefix) && len(m.Words) == 0; i++ {
		values = append(values, m.Prefix[i].Value)
	}
	for _, w := range values {
		switch w.Kind {
		case bash.Literal:
			m.text(w.Text, false) // f=HEAD:secret
		case bash.Glob:
			m.add(m.Dirs, Touch{Path: w.Text, Glob: true})
		}
	}
}

// pathspecs adds the paths in words of git that it counts from the top of the repository, such as HEAD:file, and its
// own patterns.
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

// input adds the paths in the input that the line gives a command. A command that reads a program, or names of files,
// from elsewhere may use others.
func (m *mentions) input() {
	reads := program.ReadsProgram(m.Command) || slices.ContainsFunc(m.Words[1:], func(w bash.Word) bool {
		name, _, _ := strings.Cut(w.Text, "=")
		return slices.Contains(program.RunnerOf("*").Lists, name)
	})
	input := m.Command.Input()
	if input != nil && (reads || program.RunsOf(m.Command).Interprets) {
		m.vague = input == m.Stdin
		m.text(input.Text, true)
		m.vague = false
	}
	m.all = m.all && !(reads && (input == nil || input.Kind != bash.Literal))
}

// files adds what a well-known command does with files: what it reads and writes for sure, what it may read or write
// below its operands or the current directory, and the files that it makes under other names.
func (m *mentions) files() {
	has := func(flags ...string) bool { return given(m.Command, m.Runner, flags) }
	reads, changes, into := has(m.Reads...), has(m.Changes...) && !has(m.Unless...), has("-t", "--target-directory")
	below := func(w bash.Word, reads, changes bool) {
		for _, writes := range []bool{false, true} {
			if reads && !writes || changes && writes {
				m.add(m.Dirs, Touch{Path: w.Text, Glob: w.Kind == bash.Glob, Writes: writes, Below: true, Vague: true})
			}
		}
	}
	below(bash.Word{Text: "."}, reads && m.Here, changes && !has(m.Into...))
	operands := slices.DeleteFunc(slices.Clone(m.Words[1:]),
		func(w bash.Word) bool { return strings.HasPrefix(w.Text, "-") || w.Kind > bash.Glob })
	m.all = m.all && !(m.Copies && into)
	targets := operands[max(0, len(operands)-1):] // it copies to
	if into {
		targets = operands[:min(len(operands), maxCopied)]
	}
	isDir := into || len(operands) > 0 && strings.Trim(operands[len(operands)-1].Text, "./") == "" || m.Fetches ||
		m.Strips
	for i, w := range operands {
		last := i == len(operands)-1 && i > 0 && !into
		t := Touch{Path: w.Text, Glob: w.Kind == bash.Glob, Sure: true}
		if m.Renames && !last { // under another name, what is in it can be read
			m.add(m.Dirs, t)
		}
		below(w, reads || m.Renames && !last, changes)
		for _, made := range m.made(w.Text, targets) {
			m.add(m.Dirs, Touch{
				Path: made, Glob: t.Glob && strings.ContainsAny(path.Base(made), "*?["), Writes: true,
				Inside: len(operands) == 2 && !isDir,
			})
		}
		if len(m.Edits) > 0 && has(m.Edits...) {
			m.add(m.Dirs, Touch{Path: t.Path, Glob: t.Glob, Writes: true, Edits: true})
		}
		if m.Writes != "" {
			t.Writes = m.Runner.Writes == "all" || m.Runner.Writes == "rest" && i > 0 || m.Runner.Writes == "last" &&
				(last || i == 0 && into)
			t.Below = !t.Glob && has(m.Deep...)
			m.add(m.Dirs, t)
		}
	}
	if m.Base() == "git" {
		m.pathspecs()
		if dir, shown := gitShown(m.Command); shown {
			m.add(m.Dirs, Touch{Path: dir, Index: true, Sure: !slices.Contains(m.Words, bash.Word{Text: "--"})})
		}
	}
}

// made returns files that a command may make of another under a name that is not among its words. cp a/.mcp.json .
// writes ./.mcp.json, curl -O and wget take the name from the address, and what is unpacked loses its ending.
func (m *mentions) made(file string, targets []bash.Word) (names []string) {
	switch {
	case m.Fetches:
		return []string{path.Base(file[:strings.IndexAny(file+"?", "?#")])}
	case m.Strips:
		return []string{file[:max(0, strings.LastIndexAny(file, ".-"))]}
	case m.Copies:
		for _, to := range targets {
			if to.Text != file {
				names = append(names, strings.TrimSuffix(to.Text, "/")+"/"+path.Base(file))
			} else if len(targets) == 1 {
				names = append(names, path.Base(file)) // ln -s ../x
			}
		}
	}
	return names
}

// text adds the paths that may stand in a word: itself, what follows = : @ or a short flag's letter, in a script of sed
// what follows a letter that reads or writes a file, and in a program every piece between quotes and brackets.
func (m *mentions) text(word string, isProgram bool) {
	add := func(name string) { m.add(m.Dirs, Touch{Path: name, Vague: m.vague, Part: name != word}) }
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
	maxCopied = 64                        // operands whose names are looked for in the others
	maxGlued  = 10                        // short flags in one word before the file that the last of them names
	maxPath   = 4 << 10                   // bytes of a path: no system opens a longer one
	joins     = "=:@,"                    // what may come before a path in a word
	brackets  = "'\"`()[]{}<>,;=|&! \t\n" // what is around a path in a program
)

// NeedsNetwork reports whether a command is known to need the network.
func NeedsNetwork(c *bash.Command) bool {
	return hasSubcommand(c, program.RunnerOf(c.Base()).Network)
}

// Publishes reports whether a command is known to publish something.
func Publishes(c *bash.Command) bool {
	return hasSubcommand(c, program.RunnerOf(c.Base()).Publishes)
}

// hasSubcommand reports whether the first word of a command that isn't a flag is one of a list.
func hasSubcommand(c *bash.Command, list []string) bool {
	if slices.Contains(list, program.Always) {
		return true
	}
	words := c.Words[min(1, len(c.Words)):]
	if c.Base() == "git" {
		_, words = program.SplitGit(c)
	}
	i := slices.IndexFunc(words, func(w bash.Word) bool { return !strings.HasPrefix(w.Text, "-") })
	return i >= 0 && slices.Contains(list, words[i].Text)
}

// gitShown returns the directory with a repository of which git prints what is in files, in whatever commit.
func gitShown(c *bash.Command) (dir string, shown bool) {
	options, words := program.SplitGit(c)
	if len(words) == 0 || !shows(words) {
		return "", false
	}
	for _, at := range program.OptionValues(options, []string{"-C"}) {
		if dir += at.Text + "/"; strings.HasPrefix(at.Text, "/") {
			dir = at.Text + "/"
		}
	}
	// HEAD:file, which is judged by its name
	objects := words[0].Text == "show" && len(words) > 1 && !slices.ContainsFunc(words[1:],
		func(w bash.Word) bool { return strings.IndexByte(w.Text, ':') <= 0 })
	return dir + ".", !objects
}

// shows reports whether a subcommand of git prints what is in files, with these words.
func shows(words []bash.Word) bool {
	r := program.RunnerOf("git " + words[0].Text)
	if words[0].Text == "stash" && len(words) > 1 {
		r = program.RunnerOf("git stash " + words[1].Text)
	}
	patch, quiet := false, false
	for _, w := range words[1:] {
		name, _, _ := strings.Cut(w.Text, "=")
		quiet = quiet || slices.Contains(r.Unless, name)
		patch = patch || slices.ContainsFunc(r.Shows, func(flag string) bool {
			return flag == name || len(flag) == 2 && len(name) > 1 && name[0] == '-' && name[1] != '-' &&
				strings.Contains(name, flag[1:])
		})
	}
	return patch || !quiet && slices.Contains(r.Shows, program.Always)
}
