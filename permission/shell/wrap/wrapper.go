// Package wrap finds the commands that commands run: env, sudo, bash -c, find -exec, xargs.
package wrap

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
	"github.com/adze-dev/adze/permission/shell/prove"
)

// Wrapping is what is known of the commands that run others, for the reader of lines.
type Wrapping struct{}

// Unwrap adds the commands that c runs.
func (Wrapping) Unwrap(r *bash.Reader, c *bash.Command) { unwrap(r, c) }

// Piped looks at what a shell or an interpreter right of a pipe is given by an echo left of it.
func (Wrapping) Piped(r *bash.Reader, right *bash.Command, line bash.Word) {
	literal := line.Kind == bash.Literal
	isShell := slices.Contains(program.Shells, right.Base()) || program.StartsShell(right) || program.RunnerOf(right.Base()).Input
	reads := program.ReadsProgram(right)
	if literal {
		line.Text = strings.ReplaceAll(line.Text, `\n`, "\n") // by printf, or echo -e
	}
	switch {
	case isShell:
		if literal && (right.Stdin == nil || !slices.Contains(program.Shells, right.Base())) {
			r.Line(right, line, true)
		}
	case reads || program.Interprets(right) && literal && prove.Prove(right).Why != "":
		inner := right.Inner([]bash.Word{right.Words[0], line}) // it's looked at as a word of the interpreter, or may be anything
		if inner.MayRun = true; !literal {
			inner.Words = []bash.Word{line}
		}
		r.Add(inner)
	}
}

// unwrap adds the commands that c runs.
func unwrap(r *bash.Reader, c *bash.Command) {
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

// wrapped adds the command in the words of a wrapper.
func wrapped(r *bash.Reader, c *bash.Command, w program.Runner) {
	for _, line := range program.OptionValues(c.Words, w.Text) {
		r.Line(c, line, w.May)
	}
	if w.Direct || w.May && !w.Joined {
		guesses(r, c, w, c.Words[1:], w.Direct)
	}
	rest, unsure := program.SkipOptions(c, w)
	switch {
	case w.First && len(rest) > 0:
		dirs := r.Dirs
		r.Dirs = nil // it runs later
		r.Line(c, rest[0])
		r.Dirs = dirs
	case w.Only && w.Input:
		input(r, c)
	}
	if w.Only || w.May && !w.Joined {
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
	if len(rest) == 0 {
		if c.AddsArgs || w.Input {
			input(r, c) // what xargs adds is the command: xargs env
		}
		return
	}
	if c.Base() == "command" && bash.Queries(c) {
		return
	}
	if isLine(rest[0]) {
		r.Line(c, bash.Join(rest), true) // sudo -s -- 'rm x'
	}
	if w.Joined {
		r.Line(c, bash.Join(rest), w.May)
		return
	}
	inner := c.Inner(rest)
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
func guesses(r *bash.Reader, c *bash.Command, w program.Runner, words []bash.Word, every bool) {
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
func mayRun(r *bash.Reader, c *bash.Command, words []bash.Word) {
	inner := c.Inner(words)
	inner.AddsArgs, inner.MayRun = c.AddsArgs || program.RunnerOf(c.Base()).Adds, true
	run(r, inner)
}

// run adds an inner command and what it runs in turn.
func run(r *bash.Reader, inner *bash.Command) {
	if r.Nest > bash.MaxNest {
		r.Err = bash.ErrTooDeep
		return
	}
	place, dirs := r.Place, r.Dirs
	r.Dirs = inner.Dirs
	r.Nest++
	if inner.Marked(inner.Words[0]) { // find . -exec {} \;
		inner.Words = append([]bash.Word{{Text: inner.Words[0].Text, Kind: bash.Unknown}}, inner.Words[1:]...)
	}
	r.Add(inner)
	unwrap(r, inner)
	r.Nest--
	r.Place, r.Dirs = place, dirs
}

// shellRuns reads the words of a shell: -c LINE, or its input where it is given no file.
func shellRuns(r *bash.Reader, c *bash.Command) {
	words := c.Words[1:]
	for i, w := range words {
		short := strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--")
		switch {
		case w.Kind != bash.Literal:
			r.Unknown(c)
			return
		case slices.Contains(shellValued, w.Text), i > 0 && slices.Contains(shellValued, words[i-1].Text):
		case short && strings.Contains(w.Text, "c"):
			shellLine(r, c, words[i+1:])
			return
		case short && strings.Contains(w.Text, "s"), w.Text == "-", w.Text == "--", strings.HasPrefix(w.Text, "/dev/"), strings.HasPrefix(w.Text, "/proc/"):
			input(r, c)
			return
		case w.Text == "--version", w.Text == "--help", w.Text[:min(1, len(w.Text))] != "-" && !strings.HasPrefix(w.Text, "+"):
			return // a script
		}
	}
	input(r, c)
}

// shellValued are the options of shells whose value is the next word.
var shellValued = strings.Fields("--rcfile --init-file -O +O -o +o")

// shellLine reads the line after -c, which further options may stand before.
func shellLine(r *bash.Reader, c *bash.Command, words []bash.Word) {
	for len(words) > 0 && words[0].Kind == bash.Literal && len(words[0].Text) > 1 && strings.HasPrefix(words[0].Text, "-") {
		if slices.Contains(shellValued, words[0].Text) {
			words = words[1:]
		}
		words = words[min(1, len(words)):]
	}
	if len(words) == 0 {
		r.Unknown(c)
		return
	}
	r.Line(c, words[0])
	if c.Base() != "bash" && slices.ContainsFunc([]string{"$'", `$"`, "{", "<(", "&>", ">&", "((", "[["}, func(s string) bool { return strings.Contains(words[0].Text, s) }) {
		other := c.Inner([]bash.Word{{Text: c.Source, Kind: bash.Unknown}}) // what bash alone reads so
		other.Doubtful = true
		r.Add(other)
	}
}

// input reads the program that a shell is given on its standard input.
func input(r *bash.Reader, c *bash.Command) {
	if text := c.Input(); text != nil {
		r.Line(c, *text)
		return
	}
	r.Unknown(c)
}

// alias reads the values of alias NAME=LINE.
func alias(r *bash.Reader, c *bash.Command) {
	r.Dirs = nil // it runs later
	for _, w := range c.Words[1:] {
		name, value, found := strings.Cut(w.Text, "=")
		if w.Kind != bash.Literal || found && name != "" {
			r.Line(c, bash.Word{Text: value, Kind: w.Kind})
		}
	}
}

// execs adds the commands behind -exec and its kin.
func execs(r *bash.Reader, c *bash.Command, w program.Runner) {
	words := c.Words
	for i := 1; i < len(words); i++ {
		option, value, attached := strings.Cut(words[i].Text, "=")
		if len(option) > 2 && slices.Contains(w.Exec, option[:2]) { // fd -xrm
			option, value, attached = option[:2], words[i].Text[2:], true
		}
		if !slices.Contains(w.Exec, option) {
			if w.Dashed && words[i].Kind > bash.Filled && !program.FindTakes(words[i-1].Text) {
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
		if len(command) > 0 {
			inner := c.Inner(command)
			inner.AddsArgs, inner.Mark = true, w.Mark
			if strings.HasSuffix(option, "dir") {
				inner.Dirs = nil
			}
			run(r, inner)
		}
		i = end
	}
}

// gitRuns adds the commands in the words of git: aliases and programs in settings, rebase --exec, bisect run.
func gitRuns(r *bash.Reader, c *bash.Command, w program.Runner) {
	guess := func(text string, kind bash.Kind) { r.Line(c, bash.Word{Text: text, Kind: kind}, true) }
	for _, line := range program.OptionValues(c.Words, w.Text) {
		guess(line.Text, line.Kind)
	}
	for _, setting := range program.OptionValues(c.Words, []string{"-c", "--config"}) {
		_, value, _ := strings.Cut(setting.Text, "=")
		if line, alias := strings.CutPrefix(value, "!"); alias || setting.Kind != bash.Literal || strings.ContainsAny(value, " /") {
			guess(line, setting.Kind)
		}
	}
	for i, word := range c.Words[1:] {
		for _, prefix := range []string{"-O", "--open-files-in-pager=", "!"} { // config alias.x '!rm x'
			if line, ok := strings.CutPrefix(word.Text, prefix); ok && line != "" {
				guess(line, word.Kind)
			}
		}
		switch {
		case strings.HasSuffix(c.Words[i].Text, "-filter"):
			guess(word.Text, word.Kind)
		case word.Text == "run", word.Text == "foreach": // bisect run, submodule foreach
			rest := c.Words[i+2:]
			for len(rest) > 0 && strings.HasPrefix(rest[0].Text, "--") {
				rest = rest[1:]
			}
			r.Line(c, bash.Join(rest), true)
		}
	}
}
