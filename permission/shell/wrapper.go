package shell

import (
	"slices"
	"strings"
)

// unwrap adds the commands that c runs.
func unwrap(r *reader, c *Command) {
	name := c.base()
	if name == "" {
		return
	}
	if plain, ok := strings.CutPrefix(name, "g"); ok && slices.Contains(renamed, plain) {
		name = plain
	}
	if slices.Contains(shells, name) {
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
		if len(c.Words) > 1 && (c.Words[1].Kind != Literal || strings.HasPrefix(c.Words[1].Text, "/dev/")) {
			input(r, c)
		}
		return
	case "at", "batch":
		input(r, c)
		return
	case "jobs": // -x COMMAND
		if i := slices.IndexFunc(c.Words, func(w Word) bool { return cluster(w.Text) && strings.Contains(w.Text, "x") }); i > 0 && i+1 < len(c.Words) {
			run(r, c.inner(c.Words[i+1:]))
		}
		return
	}
	w := wrapperOf(name)
	if !w.wraps {
		return
	}
	if w.may && !w.joined {
		if guesses(r, c); w.direct {
			anywhere(r, c, c.Words[1:])
		}
		return
	}
	wrapped(r, c, w)
}

// wrapped adds the command in the words of a wrapper.
func wrapped(r *reader, c *Command, w wrapper) {
	for _, option := range w.text {
		if line, ok := optionValue(c.Words, option); ok {
			r.line(c, line)
		}
	}
	if line, ok := firstOperand(c.Words); ok && w.first {
		dirs := r.dirs
		r.dirs = nil // it runs later
		r.line(c, line)
		r.dirs = dirs
	}
	rest, unsure := skipOptions(c, w)
	if w.only {
		if w.direct {
			anywhere(r, c, c.Words[1:])
		}
		return // su USER -c LINE
	}
	if c.base() == "env" {
		splitString(r, c)
	}
	if unsure {
		anywhere(r, c, rest)
	}
	for range w.operands {
		if len(rest) > 0 {
			rest = rest[1:]
		}
	}
	for len(rest) > 0 && w.assigns && rest[0].Kind == Literal && strings.Contains(rest[0].Text, "=") {
		rest = rest[1:]
	}
	if len(rest) == 0 && (c.AddsArgs || c.base() == "parallel") {
		input(r, c) // what xargs adds is the command: xargs env
	}
	if len(rest) == 0 || c.base() == "command" && queries(c) {
		return
	}
	if strings.ContainsAny(rest[0].Text, " \t\n;|&") {
		r.line(c, join(rest), true) // sudo -s -- 'rm x'
	}
	if w.joined {
		r.line(c, join(rest), w.may)
		return
	}
	inner := c.inner(rest)
	inner.AddsArgs = w.adds
	inner.MayRun = inner.MayRun || w.may
	if c.base() == "xargs" {
		inner.mark = c.replaced()
	}
	if changesDir(c) {
		inner.Dirs = nil
	}
	run(r, inner)
}

// anywhere adds what c may run if options that we do not know have taken any number of words.
func anywhere(r *reader, c *Command, words []Word) {
	const most = 12
	for i, w := range words[:min(len(words), most)] {
		if w.Kind != Literal || strings.HasPrefix(w.Text, "-") || i == 0 && !wrapperOf(c.base()).may && wrapperOf(c.base()).operands == 0 {
			continue
		}
		other := c.inner(words[i:])
		other.AddsArgs, other.MayRun = wrapperOf(c.base()).adds, true
		run(r, other)
	}
}

// run adds an inner command and what it runs in turn.
func run(r *reader, inner *Command) {
	if r.nest > maxNest {
		r.err = ErrTooDeep
		return
	}
	place, dirs := r.place, r.dirs
	r.dirs = inner.Dirs
	r.nest++
	if inner.marked(inner.Words[0]) { // find . -exec {} \;
		inner.Words = append([]Word{{inner.Words[0].Text, Unknown}}, inner.Words[1:]...)
	}
	r.add(inner)
	unwrap(r, inner)
	r.nest--
	r.place, r.dirs = place, dirs
}

// shell reads the words of a shell: -c LINE, or its input where it is given no file.
func shellRuns(r *reader, c *Command) {
	words := c.Words[1:]
	for i, w := range words {
		switch {
		case w.Kind != Literal:
			r.unknown(c)
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
func shellLine(r *reader, c *Command, words []Word) {
	for len(words) > 0 && words[0].Kind == Literal && len(words[0].Text) > 1 && strings.HasPrefix(words[0].Text, "-") {
		if words[0].Text == "-o" || words[0].Text == "-O" {
			words = words[min(1, len(words)):]
		}
		if len(words) > 0 {
			words = words[1:]
		}
	}
	if len(words) == 0 {
		r.unknown(c)
		return
	}
	r.line(c, words[0])
	if c.base() != "bash" && slices.ContainsFunc([]string{"$'", `$"`, "{", "<(", "&>", ">&", "((", "[["}, func(s string) bool { return strings.Contains(words[0].Text, s) }) {
		other := c.inner([]Word{{c.Source, Unknown}}) // what bash alone reads so
		other.doubtful = true
		r.add(other)
	}
}

// input reads the program that a shell is given on its standard input.
func input(r *reader, c *Command) {
	if text := c.input(); text != nil {
		r.line(c, *text)
		return
	}
	r.unknown(c)
}

// wrapping is what is known of the commands that run others, for the reader of lines.
type wrapping struct{}

func (wrapping) unwrap(r *reader, c *Command) { unwrap(r, c) }

// piped looks at what a shell or an interpreter right of a pipe is given by an echo left of it.
func (wrapping) piped(r *reader, right *Command, line Word) {
	isShell := slices.Contains(shells, right.base()) || right.startsShell() || right.base() == "parallel"
	reads := right.readsProgram()
	if !isShell && !reads && !right.Interprets() {
		return
	}
	if line.Kind == Literal {
		line.Text = strings.ReplaceAll(line.Text, `\n`, "\n") // by printf, or echo -e
	}
	switch {
	case isShell && line.Kind == Literal && (right.stdin == nil || !slices.Contains(shells, right.base())):
		r.line(right, line, true)
	case isShell || !reads && (line.Kind != Literal || right.Prove().Why == ""):
	default: // what an interpreter reads is looked at as a word of it, or may be anything
		inner := right.inner([]Word{right.Words[0], line})
		if inner.MayRun = true; line.Kind != Literal {
			inner.Words = []Word{line}
		}
		r.add(inner)
	}
}

// guesses adds the commands that a runner of programs might run: npx X, npm exec -- X, uv run X.
func guesses(r *reader, c *Command) {
	words := c.Words[1:]
	first := true
	for i, w := range words {
		if w.Kind != Literal {
			return
		}
		if strings.ContainsAny(w.Text, " \t\n;|&") { // npx -c 'rm x'
			r.line(c, w, true)
			continue
		}
		runner := i > 0 && slices.Contains(runWords, words[i-1].Text)
		if !strings.HasPrefix(w.Text, "-") && (first && !wrapperOf(c.base()).own || runner) {
			inner := c.inner(words[i:])
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
func alias(r *reader, c *Command) {
	r.dirs = nil // it runs later
	for _, w := range c.Words[1:] {
		name, value, found := strings.Cut(w.Text, "=")
		if w.Kind != Literal || found && name != "" {
			r.line(c, Word{value, w.Kind})
		}
	}
}

// findExec adds the commands of find -exec and its kin.
func findExec(r *reader, c *Command) {
	findWords(r, c, c.Words, len(c.cases) == 0)
	for _, words := range c.cases {
		findWords(r, c, words, true)
	}
}

// findWords adds what find runs with these words. final: a word that is not known will not be looked at with its values.
func findWords(r *reader, c *Command, words []Word, final bool) {
	for i := 1; i < len(words); i++ {
		switch words[i].Text {
		case "-exec", "-execdir", "-ok", "-okdir":
		default:
			if final && words[i].Kind == Unknown && !findTakes(words[i-1].Text) {
				inner := c.inner(words[i : i+1]) // it may be an -exec
				inner.AddsArgs, inner.doubtful = true, true
				r.add(inner)
			}
			continue
		}
		end := execEnd(words, i)
		if end > i+1 {
			inner := c.inner(words[i+1 : end])
			inner.AddsArgs, inner.mark = true, "{}"
			if strings.HasSuffix(words[i].Text, "dir") {
				inner.Dirs = nil
			}
			run(r, inner)
		}
		i = end
	}
}

func fdExec(r *reader, c *Command) {
	for i, w := range c.Words {
		words := c.Words[i+1:]
		option, value, attached := strings.Cut(w.Text, "=")
		if len(w.Text) > 2 && (strings.HasPrefix(w.Text, "-x") || strings.HasPrefix(w.Text, "-X")) {
			option, value, attached = w.Text[:2], w.Text[2:], true
		}
		if attached {
			words = append([]Word{{value, w.Kind}}, words...)
		}
		if slices.Contains([]string{"-x", "-X", "--exec", "--exec-batch"}, option) && len(words) > 0 {
			inner := c.inner(words)
			inner.AddsArgs, inner.mark = true, "{"
			run(r, inner)
			return
		}
	}
}

// gitRuns adds the commands in the words of git: aliases given by -c, bisect run, submodule foreach, rebase --exec.
func gitRuns(r *reader, c *Command) {
	for i, w := range c.Words {
		if i == 0 {
			continue
		}
		before := c.Words[i-1].Text
		if before == "-c" || before == "--config" || strings.HasPrefix(w.Text, "--config=") {
			_, value, _ := strings.Cut(strings.TrimPrefix(w.Text, "--config="), "=")
			if line, bang := strings.CutPrefix(value, "!"); bang || w.Kind != Literal {
				r.line(c, Word{line, w.Kind}, true)
			} else if strings.ContainsAny(value, " /") {
				r.line(c, Word{value, w.Kind}, true) // core.pager, core.sshCommand
			}
		}
		if before == "-x" || before == "--exec" || before == "--extcmd" || strings.HasSuffix(before, "-filter") {
			r.line(c, w, true)
		}
		for _, flag := range []string{"--exec=", "--extcmd=", "-x", "-O", "--open-files-in-pager=", "!"} {
			if line, ok := strings.CutPrefix(w.Text, flag); ok && line != "" {
				r.line(c, Word{line, w.Kind}, true) // an alias with a ! in front is a line too
			}
		}
		if w.Text == "run" && before == "bisect" && i+1 < len(c.Words) || w.Text == "foreach" && before == "submodule" && i+1 < len(c.Words) {
			rest := c.Words[i+1:]
			for len(rest) > 0 && strings.HasPrefix(rest[0].Text, "--") {
				rest = rest[1:]
			}
			r.line(c, join(rest), true)
		}
	}
}

// changesDir reports whether a wrapper runs its command in another folder.
func changesDir(c *Command) bool {
	for _, option := range []string{"-C", "--chdir", "-D", "-R", "--chroot", "--wd", "--working-directory"} {
		if _, ok := optionValue(c.Words, option); ok {
			return true
		}
	}
	return c.base() == "chroot" || c.base() == "env" && slices.ContainsFunc(c.Words[1:], func(w Word) bool {
		return strings.HasPrefix(w.Text, "--c") || cluster(w.Text) && strings.IndexByte(w.Text, 'C') > 0 // --ch=x, -iCx
	})
}

// splitString reads env -S LINE WORD…, -iSLINE, --split-string=LINE and what it may be cut to. The words that follow are
// added to those of the line.
func splitString(r *reader, c *Command) {
	for i := 1; i < len(c.Words) && strings.HasPrefix(c.Words[i].Text, "-") && c.Words[i].Text != "--"; i++ {
		text := c.Words[i].Text
		option, value, attached := strings.Cut(text, "=")
		if !strings.HasPrefix(text, "--") {
			at := strings.IndexAny(text, wrapperOf("env").values)
			if at < 0 || text[at] != 'S' {
				if at == len(text)-1 {
					i++ // -u NAME
				}
				continue
			}
			option, value, attached = "--split-string", text[at+1:], at+1 < len(text)
		}
		if len(option) < 3 || !strings.HasPrefix("--split-string", option) {
			if slices.Contains(wrapperOf("env").long, option) && !attached {
				i++
			}
			continue
		}
		line := Word{value, c.Words[i].Kind}
		rest := c.Words[i+1:]
		if !attached && len(rest) > 0 {
			line, rest = rest[0], rest[1:]
		}
		for _, w := range rest {
			line = Word{line.Text + " " + w.String(), max(line.Kind, w.Kind)}
		}
		if r.line(c, line); !only(strings.ReplaceAll(line.Text, " ", ""), &plainSet) {
			r.unknown(c) // env has quotes and signs of its own
		}
		return
	}
}
