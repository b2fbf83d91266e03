// Package wrap finds the commands that commands run: env, sudo, bash -c, find -exec, xargs.
package wrap

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
	"github.com/adze-dev/adze/permission/shell/prove"
)

// unwrap adds the commands that c runs.
func unwrap(r *bash.Reader, c *bash.Command) {
	name := c.Base()
	if name == "" {
		return
	}
	if plain, ok := strings.CutPrefix(name, "g"); ok && slices.Contains(program.Renamed, plain) {
		name = plain
	}
	if slices.Contains(program.Shells, name) {
		shellRuns(r, c)
		return
	}
	switch name {
	case "find":
		findExec(r, c)
		return
	case "fd", "fdfind":
		fdExec(r, c)
		return
	case "git":
		gitRuns(r, c)
		return
	case "alias":
		alias(r, c)
		return
	case "source", ".":
		if len(c.Words) > 1 && (c.Words[1].Kind != bash.Literal || strings.HasPrefix(c.Words[1].Text, "/dev/")) {
			input(r, c)
		}
		return
	case "at", "batch":
		input(r, c)
		return
	case "jobs": // -x COMMAND
		if i := slices.IndexFunc(c.Words, func(w bash.Word) bool { return program.Cluster(w.Text) && strings.Contains(w.Text, "x") }); i > 0 && i+1 < len(c.Words) {
			run(r, c.Inner(c.Words[i+1:]))
		}
		return
	}
	w := program.RunnerOf(name)
	if !w.Wraps {
		return
	}
	if w.May && !w.Joined {
		if guesses(r, c); w.Direct {
			anywhere(r, c, c.Words[1:])
		}
		return
	}
	wrapped(r, c, w)
}

// wrapped adds the command in the words of a wrapper.
func wrapped(r *bash.Reader, c *bash.Command, w program.Runner) {
	for _, option := range w.Text {
		if line, ok := program.OptionValue(c.Words, option); ok {
			r.Line(c, line)
		}
	}
	if line, ok := program.FirstOperand(c.Words); ok && w.First {
		dirs := r.Dirs
		r.Dirs = nil // it runs later
		r.Line(c, line)
		r.Dirs = dirs
	}
	rest, unsure := program.SkipOptions(c, w)
	if w.Only {
		if w.Direct {
			anywhere(r, c, c.Words[1:])
		}
		return // su USER -c LINE
	}
	if c.Base() == "env" {
		splitString(r, c)
	}
	if unsure {
		anywhere(r, c, rest)
	}
	for range w.Operands {
		if len(rest) > 0 {
			rest = rest[1:]
		}
	}
	for len(rest) > 0 && w.Assigns && rest[0].Kind == bash.Literal && strings.Contains(rest[0].Text, "=") {
		rest = rest[1:]
	}
	if len(rest) == 0 && (c.AddsArgs || c.Base() == "parallel") {
		input(r, c) // what xargs adds is the command: xargs env
	}
	if len(rest) == 0 || c.Base() == "command" && bash.Queries(c) {
		return
	}
	if strings.ContainsAny(rest[0].Text, " \t\n;|&") {
		r.Line(c, bash.Join(rest), true) // sudo -s -- 'rm x'
	}
	if w.Joined {
		r.Line(c, bash.Join(rest), w.May)
		return
	}
	inner := c.Inner(rest)
	inner.AddsArgs = w.Adds
	inner.MayRun = inner.MayRun || w.May
	if c.Base() == "xargs" {
		inner.Mark = program.Replaced(c)
	}
	if changesDir(c) {
		inner.Dirs = nil
	}
	run(r, inner)
}

// anywhere adds what c may run if options that we do not know have taken any number of words.
func anywhere(r *bash.Reader, c *bash.Command, words []bash.Word) {
	const most = 12
	for i, w := range words[:min(len(words), most)] {
		if w.Kind != bash.Literal || strings.HasPrefix(w.Text, "-") || i == 0 && !program.RunnerOf(c.Base()).May && program.RunnerOf(c.Base()).Operands == 0 {
			continue
		}
		other := c.Inner(words[i:])
		other.AddsArgs, other.MayRun = program.RunnerOf(c.Base()).Adds, true
		run(r, other)
	}
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

// shell reads the words of a shell: -c LINE, or its input where it is given no file.
func shellRuns(r *bash.Reader, c *bash.Command) {
	words := c.Words[1:]
	for i, w := range words {
		switch {
		case w.Kind != bash.Literal:
			r.Unknown(c)
			return
		case w.Text == "--rcfile" || w.Text == "--init-file" || w.Text == "-O" || w.Text == "+O" || w.Text == "-o" || w.Text == "+o":
			continue
		case i > 0 && strings.Contains(" --rcfile --init-file -O +O -o +o ", " "+words[i-1].Text+" "):
			continue
		case strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "c"):
			shellLine(r, c, words[i+1:])
			return
		case strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "s"), w.Text == "-", w.Text == "--":
			input(r, c)
			return
		case strings.HasPrefix(w.Text, "-"), strings.HasPrefix(w.Text, "+"):
			if w.Text == "--version" || w.Text == "--help" {
				return
			}
			continue
		case strings.HasPrefix(w.Text, "/dev/") || strings.HasPrefix(w.Text, "/proc/"):
			input(r, c)
			return
		default:
			return // a script
		}
	}
	input(r, c)
}

// shellLine reads the line after -c, which further options may stand before.
func shellLine(r *bash.Reader, c *bash.Command, words []bash.Word) {
	for len(words) > 0 && words[0].Kind == bash.Literal && len(words[0].Text) > 1 && strings.HasPrefix(words[0].Text, "-") {
		if words[0].Text == "-o" || words[0].Text == "-O" {
			words = words[min(1, len(words)):]
		}
		if len(words) > 0 {
			words = words[1:]
		}
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

// Wrapping is what is known of the commands that run others, for the reader of lines.
type Wrapping struct{}

func (Wrapping) Unwrap(r *bash.Reader, c *bash.Command) { unwrap(r, c) }

// Piped looks at what a shell or an interpreter right of a pipe is given by an echo left of it.
func (Wrapping) Piped(r *bash.Reader, right *bash.Command, line bash.Word) {
	isShell := slices.Contains(program.Shells, right.Base()) || program.StartsShell(right) || right.Base() == "parallel"
	reads := program.ReadsProgram(right)
	if !isShell && !reads && !program.Interprets(right) {
		return
	}
	if line.Kind == bash.Literal {
		line.Text = strings.ReplaceAll(line.Text, `\n`, "\n") // by printf, or echo -e
	}
	switch {
	case isShell && line.Kind == bash.Literal && (right.Stdin == nil || !slices.Contains(program.Shells, right.Base())):
		r.Line(right, line, true)
	case isShell || !reads && (line.Kind != bash.Literal || prove.Prove(right).Why == ""):
	default: // what an interpreter reads is looked at as a word of it, or may be anything
		inner := right.Inner([]bash.Word{right.Words[0], line})
		if inner.MayRun = true; line.Kind != bash.Literal {
			inner.Words = []bash.Word{line}
		}
		r.Add(inner)
	}
}

// guesses adds the commands that a runner of programs might run: npx X, npm exec -- X, uv run X.
func guesses(r *bash.Reader, c *bash.Command) {
	words := c.Words[1:]
	first := true
	for i, w := range words {
		if w.Kind != bash.Literal {
			return
		}
		if strings.ContainsAny(w.Text, " \t\n;|&") { // npx -c 'rm x'
			r.Line(c, w, true)
			continue
		}
		runner := i > 0 && slices.Contains(program.RunWords, words[i-1].Text)
		if !strings.HasPrefix(w.Text, "-") && (first && !program.RunnerOf(c.Base()).Own || runner) {
			inner := c.Inner(words[i:])
			inner.MayRun = true
			run(r, inner)
			if !first {
				return
			}
			first = false
		}
	}
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

// findExec adds the commands of find -exec and its kin.
func findExec(r *bash.Reader, c *bash.Command) {
	words := c.Words
	for i := 1; i < len(words); i++ {
		switch words[i].Text {
		case "-exec", "-execdir", "-ok", "-okdir":
		default:
			if c.Cases == nil && words[i].Kind == bash.Unknown && !program.FindTakes(words[i-1].Text) {
				inner := c.Inner(words[i : i+1]) // it may be an -exec
				inner.AddsArgs, inner.Doubtful = true, true
				r.Add(inner)
			}
			continue
		}
		end := program.ExecEnd(words, i)
		if end > i+1 {
			inner := c.Inner(words[i+1 : end])
			inner.AddsArgs, inner.Mark = true, "{}"
			if strings.HasSuffix(words[i].Text, "dir") {
				inner.Dirs = nil
			}
			run(r, inner)
		}
		i = end
	}
}

func fdExec(r *bash.Reader, c *bash.Command) {
	for i, w := range c.Words {
		words := c.Words[i+1:]
		option, value, attached := strings.Cut(w.Text, "=")
		if len(w.Text) > 2 && (strings.HasPrefix(w.Text, "-x") || strings.HasPrefix(w.Text, "-X")) {
			option, value, attached = w.Text[:2], w.Text[2:], true
		}
		if attached {
			words = append([]bash.Word{{Text: value, Kind: w.Kind}}, words...)
		}
		if slices.Contains([]string{"-x", "-X", "--exec", "--exec-batch"}, option) && len(words) > 0 {
			inner := c.Inner(words)
			inner.AddsArgs, inner.Mark = true, "{"
			run(r, inner)
			return
		}
	}
}

// gitRuns adds the commands in the words of git: aliases given by -c, bisect run, submodule foreach, rebase --exec.
func gitRuns(r *bash.Reader, c *bash.Command) {
	for i, w := range c.Words {
		if i == 0 {
			continue
		}
		before := c.Words[i-1].Text
		if before == "-c" || before == "--config" || strings.HasPrefix(w.Text, "--config=") {
			_, value, _ := strings.Cut(strings.TrimPrefix(w.Text, "--config="), "=")
			if line, bang := strings.CutPrefix(value, "!"); bang || w.Kind != bash.Literal {
				r.Line(c, bash.Word{Text: line, Kind: w.Kind}, true)
			} else if strings.ContainsAny(value, " /") {
				r.Line(c, bash.Word{Text: value, Kind: w.Kind}, true) // core.pager, core.sshCommand
			}
		}
		if before == "-x" || before == "--exec" || before == "--extcmd" || strings.HasSuffix(before, "-filter") {
			r.Line(c, w, true)
		}
		for _, flag := range []string{"--exec=", "--extcmd=", "-x", "-O", "--open-files-in-pager=", "!"} {
			if line, ok := strings.CutPrefix(w.Text, flag); ok && line != "" {
				r.Line(c, bash.Word{Text: line, Kind: w.Kind}, true) // an alias with a ! in front is a line too
			}
		}
		if w.Text == "run" && before == "bisect" && i+1 < len(c.Words) || w.Text == "foreach" && before == "submodule" && i+1 < len(c.Words) {
			rest := c.Words[i+1:]
			for len(rest) > 0 && strings.HasPrefix(rest[0].Text, "--") {
				rest = rest[1:]
			}
			r.Line(c, bash.Join(rest), true)
		}
	}
}

// changesDir reports whether a wrapper runs its command in another folder.
func changesDir(c *bash.Command) bool {
	for _, option := range []string{"-C", "--chdir", "-D", "-R", "--chroot", "--wd", "--working-directory"} {
		if _, ok := program.OptionValue(c.Words, option); ok {
			return true
		}
	}
	return c.Base() == "chroot" || c.Base() == "env" && slices.ContainsFunc(c.Words[1:], func(w bash.Word) bool {
		return strings.HasPrefix(w.Text, "--c") || program.Cluster(w.Text) && strings.IndexByte(w.Text, 'C') > 0 // --ch=x, -iCx
	})
}

// splitString reads env -S LINE WORD…, -iSLINE, --split-string=LINE and what it may be cut to. The words that follow are
// added to those of the line.
func splitString(r *bash.Reader, c *bash.Command) {
	for i := 1; i < len(c.Words) && strings.HasPrefix(c.Words[i].Text, "-") && c.Words[i].Text != "--"; i++ {
		text := c.Words[i].Text
		option, value, attached := strings.Cut(text, "=")
		if !strings.HasPrefix(text, "--") {
			at := strings.IndexAny(text, program.RunnerOf("env").Values)
			if at < 0 || text[at] != 'S' {
				if at == len(text)-1 {
					i++ // -u NAME
				}
				continue
			}
			option, value, attached = "--split-string", text[at+1:], at+1 < len(text)
		}
		if len(option) < 3 || !strings.HasPrefix("--split-string", option) {
			if slices.Contains(program.RunnerOf("env").Long, option) && !attached {
				i++
			}
			continue
		}
		line := bash.Word{Text: value, Kind: c.Words[i].Kind}
		rest := c.Words[i+1:]
		if !attached && len(rest) > 0 {
			line, rest = rest[0], rest[1:]
		}
		for _, w := range rest {
			line = bash.Word{Text: line.Text + " " + w.String(), Kind: max(line.Kind, w.Kind)}
		}
		if r.Line(c, line); !bash.Only(strings.ReplaceAll(line.Text, " ", ""), &bash.PlainSet) {
			r.Unknown(c) // env has quotes and signs of its own
		}
		return
	}
}
