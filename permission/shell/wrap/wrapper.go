// Package wrap finds the commands that commands run: env, sudo, bash -c, find -exec, xargs.
package wrap

import (
	"regexp"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

// Unwrap adds the commands that c runs.
func Unwrap(r bash.Reader, c *bash.Command) {
	name := c.Base()
	if plain, ok := strings.CutPrefix(name, "g"); ok && slices.Contains(program.RunnerOf("*").Renamed, plain) {
		name = plain
	}
	w := program.RunnerOf(name)
	switch sub, isGit := strings.CutPrefix(name, "git-"); {
	case isGit:
		mayRun(r, c, append([]bash.Word{{Text: "git"}, {Text: sub}}, c.Words[1:]...))
	case name == "hub": // it takes git's words
		mayRun(r, c, append([]bash.Word{{Text: "git"}}, c.Words[1:]...))
	case w.Shell, (name == "source" || name == ".") && len(c.Words) > 1:
		shellRuns(r, c, w)
	case name == "alias" && slices.ContainsFunc(c.Words[1:], func(w bash.Word) bool {
		return w.Kind != bash.Literal ||
			strings.Contains(w.Text, "=")
	}):
		r.Unknown(c)
	case w.Exec != nil:
		execs(r, c, w)
	case name == "git":
		gitRuns(r, c, w)
	case w.Wraps:
		wrapped(r, c, w)
	case program.StartsShell(c) && c.Stdin != nil:
		r.Line(c, *c.Stdin, true)
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
		guesses(r, c, w, c.Words[1:])
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
	splits := func(w bash.Word) bool {
		return strings.HasPrefix(w.Text, "--s") || isShort(w) && strings.Contains(w.Text, "S")
	}
	// -iS or --split-string
	if i := slices.IndexFunc(c.Words[:len(c.Words)-len(rest)], splits); i > 0 && c.Base() == "env" {
		r.Unknown(c) // env has its own quotes and escapes
	}
	if unsure { // about the first word, which is the command unless it is an operand
		guesses(r, c, w, rest[min(len(rest), 1-min(w.Operands, 1)):])
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
	inner.AddsArgs, inner.MayRun = c.AddsArgs || w.Adds, inner.MayRun || w.May
	if c.Base() == "xargs" {
		inner.Mark = program.Replaced(c)
	}
	if c.Base() == "chroot" || slices.ContainsFunc(c.Words[1:len(c.Words)-len(words)],
		func(w bash.Word) bool { return changesDir.MatchString(w.Text) }) {
		inner.Dirs = nil
	}
	run(r, inner)
}

// isShort reports whether a word is options of one letter each: -lc.
func isShort(w bash.Word) bool {
	return strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--")
}

// changesDir matches options that may have a wrapper run its command in another directory: -C, --chdir, --wd.
var changesDir = regexp.MustCompile(`^(-|-[^-=][^=]*)[CDR]|^--(c|ch[a-z]*|w[a-z-]*)(=|$)`)

// isLine reports whether a word looks like a command line.
func isLine(w bash.Word) bool { return strings.ContainsAny(w.Text, " \t\n;|&") }

// guesses adds what c may run: every word may start a command, unless the first one is a subcommand of c. Then those
// after words such as exec may: npm exec -- X.
func guesses(r bash.Reader, c *bash.Command, w program.Runner, words []bash.Word) {
	for i, word := range words[:min(len(words), 12)] { // enough for an ordinary command line
		switch {
		case word.Kind != bash.Literal, strings.HasPrefix(word.Text, "-"):
		case isLine(word): // npx -c 'rm x'
			r.Line(c, word, true)
		case !w.Subcommands || i > 0 && slices.Contains(program.RunnerOf("*").Before, words[i-1].Text):
			mayRun(r, c, words[i:])
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
	}
	if r.Err != nil {
		return
	}
	if inner.Marked(inner.Words[0]) { // find . -exec {} \;
		inner.Words = append([]bash.Word{{Text: inner.Words[0].Text, Kind: bash.Unknown}}, inner.Words[1:]...)
	}
	r.Nest, r.Dirs = r.Nest+1, inner.Dirs
	r.Add(inner)
	Unwrap(r, inner)
}

// shellRuns reads the words of a shell: -c LINE, or its input if it is given no file.
func shellRuns(r bash.Reader, c *bash.Command, w program.Runner) {
	rest, _ := program.SkipOptions(c, w)
	options := c.Words[1 : len(c.Words)-len(rest)]
	isGiven := func(long string) bool { return slices.Contains(options, bash.Word{Text: long}) }
	hasLetter := func(letter string) bool {
		return slices.ContainsFunc(options, func(w bash.Word) bool {
			return isShort(w) &&
				strings.Contains(w.Text, letter)
		})
	}
	switch {
	case hasLetter("c") && len(rest) > 0:
		r.Line(c, rest[0])
		if c.Base() != "bash" && ofBash.MatchString(rest[0].Text) {
			// other shells may read it in another way
			other := c.Inner([]bash.Word{{Text: c.Source, Kind: bash.Unknown}})
			other.Doubtful = true
			r.Add(other)
		}
	case hasLetter("c"), len(rest) > 0 && (rest[0].Kind != bash.Literal || strings.HasPrefix(rest[0].Text, "+")):
		r.Unknown(c)
	case isGiven("--version"), isGiven("--help"):
	case isGiven("--"), hasLetter("s"), len(rest) == 0, rest[0].Text == "-", strings.HasPrefix(rest[0].Text, "/dev/"),
		strings.HasPrefix(rest[0].Text, "/proc/"):
		input(r, c)
	}
}

var ofBash = regexp.MustCompile(`\$['"]|\{|<\(|&>|>&|\(\(|\[\[`)

// input reads the program that a shell is given on its standard input.
func input(r bash.Reader, c *bash.Command) {
	if text := c.Input(); text != nil && *text != (bash.Word{Kind: bash.Unknown}) {
		r.Line(c, *text)
		return
	}
	r.Unknown(c)
}

// execs adds the commands after -exec and the like.
func execs(r bash.Reader, c *bash.Command, w program.Runner) {
	words := c.Words
	for i := 1; i < len(words); i++ {
		option, value, attached := strings.Cut(words[i].Text, "=")
		if len(option) > 2 && slices.Contains(w.Exec, option[:2]) { // fd -xrm
			option, value, attached = option[:2], words[i].Text[2:], true
		}
		if !slices.Contains(w.Exec, option) {
			if w.Dashed && words[i].Kind > bash.Glob && !slices.Contains(w.Takes, words[i-1].Text) {
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
		i = end
		if len(command) > 0 {
			inner := c.Inner(command)
			inner.AddsArgs, inner.Mark = true, w.Mark
			if strings.HasSuffix(option, "dir") {
				inner.Dirs = nil
			}
			run(r, inner)
		}
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
	// bisect run, submodule foreach
	if i := slices.IndexFunc(c.Words, func(w bash.Word) bool { return w.Text == "run" || w.Text == "foreach" }); i > 0 {
		rest, _ := program.SkipOptions(&bash.Command{Words: c.Words[i:]}, program.Runner{})
		lines = append(lines, bash.Join(rest))
	}
	for i, word := range c.Words[1:] {
		for _, prefix := range []string{"-O", "--open-files-in-pager=", "!"} { // config alias.x '!rm x'
			if line, ok := strings.CutPrefix(word.Text, prefix); ok && line != "" {
				lines = append(lines, bash.Word{Text: line, Kind: word.Kind})
			}
		}
		if strings.HasSuffix(c.Words[i].Text, "-filter") {
			lines = append(lines, word)
		}
	}
	for _, line := range lines {
		r.Line(c, line, true)
	}
}
