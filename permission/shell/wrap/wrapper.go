// Package wrap finds the commands that commands run: env, sudo, bash -c, find -exec, xargs.
package wrap

import (
	"regexp"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
	"github.com/adze-dev/adze/permission/shell/prove"
)

// Wrapping is what is known of the commands that run others, for the reader of lines.
type Wrapping struct{}

// Unwrap adds the commands that c runs.
func (Wrapping) Unwrap(r *bash.Reader, c *bash.Command) { unwrap(*r, c) }

// Piped looks at what a shell or an interpreter right of a pipe is given by an echo left of it.
func (Wrapping) Piped(r *bash.Reader, right *bash.Command, line bash.Word) {
	isShell := slices.Contains(program.Shells, right.Base()) || program.StartsShell(right) || program.RunnerOf(right.Base()).Input
	isLiteral := line.Kind == bash.Literal
	if isLiteral {
		line.Text = strings.ReplaceAll(line.Text, `\n`, "\n") // by printf, or echo -e
	}
	switch {
	case isShell && isLiteral && (right.Stdin == nil || !slices.Contains(program.Shells, right.Base())):
		r.Line(right, line, true)
	case isShell:
	case isLiteral && program.Interprets(right) && prove.Prove(right).Why != "":
		mayRun(*r, right, []bash.Word{right.Words[0], line}) // like a word of the interpreter
	case !isLiteral && program.ReadsProgram(right):
		mayRun(*r, right, []bash.Word{line})
	}
}

// unwrap adds the commands that c runs.
func unwrap(r bash.Reader, c *bash.Command) {
	name := c.Base()
	if plain, ok := strings.CutPrefix(name, "g"); ok && slices.Contains(program.Renamed, plain) {
		name = plain
	}
	w := program.RunnerOf(name)
	switch sub, isGit := strings.CutPrefix(name, "git-"); {
	case isGit:
		mayRun(r, c, append([]bash.Word{{Text: "git"}, {Text: sub}}, c.Words[1:]...))
	case name == "hub": // it takes git's words
		mayRun(r, c, append([]bash.Word{{Text: "git"}}, c.Words[1:]...))
	case slices.Contains(program.Shells, name), (name == "source" || name == ".") && len(c.Words) > 1:
		shellRuns(r, c)
	case name == "alias":
		alias(r, c)
	case w.Exec != nil:
		execs(r, c, w)
	case name == "git":
		gitRuns(r, c, w)
	case w.Wraps:
		wrapped(r, c, w)
	}
}

// wrapped adds what a wrapper runs: a line in its words, or the command that they are.
func wrapped(r bash.Reader, c *bash.Command, w program.Runner) {
	for _, line := range program.OptionValues(c.Words, w.Text) {
		r.Line(c, line, w.May)
	}
	rest, unsure := program.SkipOptions(c, w)
	switch {
	case w.Direct || w.May && !w.Joined:
		guesses(r, c, w, c.Words[1:], w.Direct)
		return
	case w.First && len(rest) > 0:
		r.Dirs = nil // it runs later
		r.Line(c, rest[0])
		return
	case w.Only:
		if w.Input {
			input(r, c)
		}
		return
	}
	if i := slices.IndexFunc(c.Words[:len(c.Words)-len(rest)], splits); i > 0 && c.Base() == "env" {
		line := bash.Join(c.Words[i:])
		line.Text = line.Text[strings.IndexAny(line.Text, "S= ")+1:]
		r.Line(c, line)
		r.Unknown(c) // env has quotes and signs of its own
	}
	if unsure {
		guesses(r, c, w, rest, true)
	}
	rest = rest[min(w.Operands, len(rest)):]
	for len(rest) > 0 && w.Assigns && rest[0].Kind == bash.Literal && strings.Contains(rest[0].Text, "=") {
		rest = rest[1:]
	}
	switch {
	case len(rest) == 0 && (c.AddsArgs || w.Input): // what xargs adds is the command: xargs env
		input(r, c)
	case len(rest) == 0, c.Base() == "command" && bash.Queries(c):
	case w.Joined:
		r.Line(c, bash.Join(rest), w.May)
	default:
		runWords(r, c, w, rest)
	}
}

// runWords adds the command in the last words of a wrapper.
func runWords(r bash.Reader, c *bash.Command, w program.Runner, words []bash.Word) {
	if isLine(words[0]) {
		r.Line(c, bash.Join(words), true) // sudo -s -- 'rm x'
	}
	inner := c.Inner(words)
	inner.AddsArgs, inner.MayRun = w.Adds, inner.MayRun || w.May
	if c.Base() == "xargs" {
		inner.Mark = program.Replaced(c)
	}
	if c.Base() == "chroot" || slices.ContainsFunc(c.Words[1:], changesDir) {
		inner.Dirs = nil
	}
	run(r, inner)
}

// splits reports whether an option of env is -S, -iS or --split-string, and what that may be cut to.
func splits(w bash.Word) bool {
	return strings.HasPrefix(w.Text, "--s") || strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "S")
}

// changesDir reports whether an option may have a wrapper run its command in another directory.
func changesDir(w bash.Word) bool {
	name, _, _ := strings.Cut(w.Text, "=")
	if !strings.HasPrefix(name, "--") {
		return strings.HasPrefix(name, "-") && strings.ContainsAny(name, "CDR")
	}
	dirs := []string{"--chdir", "--chroot", "--wd", "--working-directory"}
	return len(name) > 2 && slices.ContainsFunc(dirs, func(option string) bool { return strings.HasPrefix(option, name) })
}

// isLine reports whether a word looks like a command line.
func isLine(w bash.Word) bool { return strings.ContainsAny(w.Text, " \t\n;|&") }

// guesses adds what c may run: every word may begin a command if options that are not known may have taken the others.
// Else the first one may, unless it is a subcommand of c, and those behind words such as exec: npx X, npm exec -- X.
func guesses(r bash.Reader, c *bash.Command, w program.Runner, words []bash.Word, every bool) {
	const most = 12
	if every {
		words = words[:min(len(words), most)]
	}
	first := !w.Subcommands
	for i, word := range words {
		switch {
		case word.Kind != bash.Literal:
		case isLine(word): // npx -c 'rm x'
			r.Line(c, word, true)
		case strings.HasPrefix(word.Text, "-"), every && i == 0 && !w.May && w.Operands == 0:
		case every || first || i > 0 && slices.Contains(program.RunWords, words[i-1].Text):
			mayRun(r, c, words[i:])
			first = false
		}
	}
}

// mayRun adds the command in words, which c may run or not.
func mayRun(r bash.Reader, c *bash.Command, words []bash.Word) {
	inner := c.Inner(words)
	inner.AddsArgs, inner.MayRun = c.AddsArgs || program.RunnerOf(c.Base()).Adds, true
	run(r, inner)
}

// run adds an inner command and what it runs in turn.
func run(r bash.Reader, inner *bash.Command) {
	if r.Nest > bash.MaxNest {
		r.Err = bash.ErrTooDeep
		return
	}
	if inner.Marked(inner.Words[0]) { // find . -exec {} \;
		inner.Words = append([]bash.Word{{Text: inner.Words[0].Text, Kind: bash.Unknown}}, inner.Words[1:]...)
	}
	r.Nest, r.Dirs = r.Nest+1, inner.Dirs
	r.Add(inner)
	unwrap(r, inner)
}

// shellRuns reads the words of a shell: -c LINE, or its input if it is given no file.
func shellRuns(r bash.Reader, c *bash.Command) {
	words, hasLine := c.Words[1:], false
	for i, w := range words {
		isLong := strings.HasPrefix(w.Text, "--")
		isShort := strings.HasPrefix(w.Text, "-") && !isLong && w.Text != "-"
		switch {
		case w.Kind == bash.Literal && i > 0 && shellValued.MatchString(words[i-1].Text):
		case hasLine && (w.Kind != bash.Literal || !isShort && !isLong):
			shellLine(r, c, w)
			return
		case w.Kind != bash.Literal:
			r.Unknown(c)
			return
		case isShort && strings.Contains(w.Text, "c"):
			hasLine = true
		case hasLine, shellValued.MatchString(w.Text):
		case isShort && strings.Contains(w.Text, "s"), w.Text == "-", w.Text == "--", strings.HasPrefix(w.Text, "/dev/"), strings.HasPrefix(w.Text, "/proc/"):
			input(r, c)
			return
		case w.Text == "--version", w.Text == "--help", !isShort && !isLong && !strings.HasPrefix(w.Text, "+"):
			return // a script
		}
	}
	if hasLine {
		r.Unknown(c)
		return
	}
	input(r, c)
}

// shellValued matches the options of shells whose value is the next word.
var shellValued = regexp.MustCompile(`^([-+][a-zA-Z]*[oO]|--rcfile|--init-file)$`)

// shellLine reads the line after -c.
func shellLine(r bash.Reader, c *bash.Command, line bash.Word) {
	r.Line(c, line)
	ofBash := []string{"$'", `$"`, "{", "<(", "&>", ">&", "((", "[["}
	if c.Base() != "bash" && slices.ContainsFunc(ofBash, func(s string) bool { return strings.Contains(line.Text, s) }) {
		other := c.Inner([]bash.Word{{Text: c.Source, Kind: bash.Unknown}}) // other shells may read it in another way
		other.Doubtful = true
		r.Add(other)
	}
}

// input reads the program that a shell is given on its standard input.
func input(r bash.Reader, c *bash.Command) {
	if text := c.Input(); text != nil {
		r.Line(c, *text)
		return
	}
	r.Unknown(c)
}

// alias reads the values of alias NAME=LINE.
func alias(r bash.Reader, c *bash.Command) {
	r.Dirs = nil // it runs later
	for _, w := range c.Words[1:] {
		name, value, found := strings.Cut(w.Text, "=")
		if w.Kind != bash.Literal || found && name != "" {
			r.Line(c, bash.Word{Text: value, Kind: w.Kind})
		}
	}
}

// execs adds the commands behind -exec and the like.
func execs(r bash.Reader, c *bash.Command, w program.Runner) {
	words := c.Words
	for i := 1; i < len(words); i++ {
		option, value, attached := strings.Cut(words[i].Text, "=")
		if len(option) > 2 && slices.Contains(w.Exec, option[:2]) { // fd -xrm
			option, value, attached = option[:2], words[i].Text[2:], true
		}
		if !slices.Contains(w.Exec, option) {
			if c.Cases == nil && w.Dashed && words[i].Kind == bash.Unknown && !program.FindTakes(words[i-1].Text) {
				inner := c.Inner(words[i : i+1]) // it may be an -exec
				inner.AddsArgs, inner.Doubtful = true, true
				r.Add(inner)
			}
			continue
		}
		end := program.ExecEnd(words, i)
		command := words[i+1 : end]
		if attached {
			command = append([]bash.Word{{Text: value, Kind: words[i].Kind}}, command...)
		}
		if i = end; len(command) == 0 {
			continue
		}
		inner := c.Inner(command)
		inner.AddsArgs, inner.Mark = true, w.Mark
		if strings.HasSuffix(option, "dir") {
			inner.Dirs = nil
		}
		run(r, inner)
	}
}

// gitRuns adds the lines in the words of git: aliases and programs in settings, rebase --exec, bisect run.
func gitRuns(r bash.Reader, c *bash.Command, w program.Runner) {
	lines := program.OptionValues(c.Words, w.Text)
	for _, setting := range program.OptionValues(c.Words, []string{"-c", "--config"}) {
		_, value, _ := strings.Cut(setting.Text, "=")
		if setting.Kind != bash.Literal || strings.ContainsAny(value, "! /") {
			lines = append(lines, bash.Word{Text: strings.TrimPrefix(value, "!"), Kind: setting.Kind})
		}
	}
	for i, word := range c.Words[1:] {
		for _, prefix := range []string{"-O", "--open-files-in-pager=", "!"} { // config alias.x '!rm x'
			if line, ok := strings.CutPrefix(word.Text, prefix); ok && line != "" {
				lines = append(lines, bash.Word{Text: line, Kind: word.Kind})
			}
		}
		switch {
		case strings.HasSuffix(c.Words[i].Text, "-filter"):
			lines = append(lines, word)
		case word.Text == "run", word.Text == "foreach": // bisect run, submodule foreach
			rest, _ := program.SkipOptions(&bash.Command{Words: c.Words[i+1:]}, program.Runner{})
			lines = append(lines, bash.Join(rest))
		}
	}
	for _, line := range lines {
		r.Line(c, line, true)
	}
}
