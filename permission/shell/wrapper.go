package shell

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// runWords are the words after which those that are no wrappers themselves name a command: npm exec -- x, uv run x.
var runWords = []string{"exec", "x", "run", "dlx", "--", "start", "record", "stat", "rsh", "ssh", "sh", "devenv", "-E"}

// shells read a command line from -c, a file or their input.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "yash", "posh", "csh", "tcsh"}

// unwrap adds the commands that c runs.
func (r *reader) unwrap(c *Command) {
	name := c.base()
	if name == "" {
		return
	}
	if plain, ok := strings.CutPrefix(name, "g"); ok && slices.Contains(renamed, plain) {
		name = plain
	}
	if slices.Contains(shells, name) {
		r.shell(c)
		return
	}
	switch name {
	case "find":
		r.findExec(c)
		return
	case "fd", "fdfind":
		r.fdExec(c)
		return
	case "git":
		r.gitRuns(c)
		return
	case "alias":
		r.alias(c)
		return
	case "source", ".":
		if len(c.Words) > 1 && (c.Words[1].Kind != Literal || strings.HasPrefix(c.Words[1].Text, "/dev/")) {
			r.input(c)
		}
		return
	case "at", "batch":
		r.input(c)
		return
	case "jobs": // -x COMMAND
		if i := slices.IndexFunc(c.Words, func(w Word) bool { return cluster(w.Text) && strings.Contains(w.Text, "x") }); i > 0 && i+1 < len(c.Words) {
			r.run(c.inner(c.Words[i+1:]))
		}
		return
	}
	w := wrapperOf(name)
	if !w.wraps {
		return
	}
	if w.may && !w.joined {
		if r.guesses(c); w.direct {
			r.anywhere(c, c.Words[1:])
		}
		return
	}
	r.wrapped(c, w)
}

// wrapped adds the command in the words of a wrapper.
func (r *reader) wrapped(c *Command, w wrapper) {
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
			r.anywhere(c, c.Words[1:])
		}
		return // su USER -c LINE
	}
	if c.base() == "env" {
		r.splitString(c)
	}
	if unsure {
		r.anywhere(c, rest)
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
		r.input(c) // what xargs adds is the command: xargs env
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
	r.run(inner)
}

// anywhere adds what c may run if options that we do not know have taken any number of words.
func (r *reader) anywhere(c *Command, words []Word) {
	const most = 12
	for i, w := range words[:min(len(words), most)] {
		if w.Kind != Literal || strings.HasPrefix(w.Text, "-") || i == 0 && !wrapperOf(c.base()).may && wrapperOf(c.base()).operands == 0 {
			continue
		}
		other := c.inner(words[i:])
		other.AddsArgs, other.MayRun = wrapperOf(c.base()).adds, true
		r.run(other)
	}
}

// run adds an inner command and what it runs in turn.
func (r *reader) run(inner *Command) {
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
	r.unwrap(inner)
	r.nest--
	r.place, r.dirs = place, dirs
}

// unknown adds a command of which nothing is known.
func (r *reader) unknown(by *Command) {
	r.add(by.inner([]Word{{by.Source, Unknown}}))
}

// line adds the commands of a line that c runs.
func (r *reader) line(c *Command, line Word, guess ...bool) {
	isGuess := len(guess) > 0 && guess[0]
	if c.marked(line) {
		r.unknown(c) // whatever is put in may be a command too
	}
	if line.Kind != Literal {
		inner := c.inner([]Word{line})
		inner.Words[0].Kind, inner.MayRun = Unknown, inner.MayRun || isGuess
		r.add(inner)
		return
	}
	by, wasGuess, place := r.by, r.guess, r.place
	r.by, r.guess, r.place = c, r.guess || c.MayRun || isGuess, Text
	r.nest++
	if err := r.read(line.Text); err != nil {
		if r.unknown(c); !r.guess {
			r.err = fmt.Errorf("command run by %s: %w", c.Name(), err)
		}
	}
	r.nest--
	r.by, r.guess, r.place = by, wasGuess, place
}

// shell reads the words of a shell: -c LINE, or its input where it is given no file.
func (r *reader) shell(c *Command) {
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
			r.shellLine(c, words[i+1:])
			return
		case strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "s"), w.Text == "-", w.Text == "--":
			r.input(c)
			return
		case strings.HasPrefix(w.Text, "-"), strings.HasPrefix(w.Text, "+"):
			if w.Text == "--version" || w.Text == "--help" {
				return
			}
			continue
		case strings.HasPrefix(w.Text, "/dev/") || strings.HasPrefix(w.Text, "/proc/"):
			r.input(c)
			return
		default:
			return // a script
		}
	}
	r.input(c)
}

// shellLine reads the line after -c, which further options may stand before.
func (r *reader) shellLine(c *Command, words []Word) {
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
func (r *reader) input(c *Command) {
	if text := c.input(); text != nil {
		r.line(c, *text)
		return
	}
	r.unknown(c)
}

// input is the text that a command reads; nil if that is not known. What a group is given, its commands share.
func (c *Command) input() *Word {
	for i, d := range slices.Backward(c.Redirs) {
		if d.Op[0] != '<' || d.Number != "" && d.Number != "0" {
			continue
		}
		if i < c.around || !strings.HasPrefix(d.Op, "<<") {
			return nil
		}
		return &d.Target
	}
	return c.stdin
}

// piped looks at what a shell or an interpreter right of a pipe is given by an echo left of it. The commands right of it
// begin at mark.
func (r *reader) piped(left *syntax.Stmt, mark int) {
	if mark >= len(r.script.Commands) {
		return
	}
	right := r.script.Commands[mark]
	isShell := slices.Contains(shells, right.base()) || right.startsShell() || right.base() == "parallel"
	reads := right.readsProgram()
	if !isShell && !reads && !right.Interprets() {
		return
	}
	line := r.echoed(left)
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

// echoed is what an echo prints; unknown if it is none.
func (r *reader) echoed(s *syntax.Stmt) Word {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 {
		return Word{r.text(s), Unknown}
	}
	if name := call.Args[0].Lit(); name != "echo" && name != "printf" {
		return Word{r.text(s), Unknown}
	}
	var words []Word
	for _, w := range call.Args[1:] {
		words = append(words, r.words(w)...)
	}
	return join(words)
}

// prints reports whether echo or printf prints the words of a statement as they are: no flags, escapes or formats.
func prints(s *syntax.Stmt) bool {
	call := s.Cmd.(*syntax.CallExpr)
	first, ok := plainLiteral(call.Args[0])
	word, quoted := wholeQuote(call.Args[1])
	if lit, plain := plainLiteral(call.Args[1]); plain {
		word, quoted = lit, true
	}
	return ok && quoted && !decorated(s) && len(call.Assigns) == 0 && !strings.HasPrefix(word, "-") && !slices.ContainsFunc(call.Args, escaped) &&
		(first == "echo" || len(call.Args) == 2 && !strings.Contains(word, "%"))
}

// escaped reports whether a word holds a backslash.
func escaped(w *syntax.Word) bool {
	found := false
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			found = found || strings.Contains(n.Value, `\`)
		case *syntax.SglQuoted:
			found = found || strings.Contains(n.Value, `\`)
		}
		return !found
	})
	return found
}

// guesses adds the commands that a runner of programs might run: npx X, npm exec -- X, uv run X.
func (r *reader) guesses(c *Command) {
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
			r.run(inner)
			if !first {
				return
			}
			first = false
		}
	}
}

// alias reads the values of alias NAME=LINE.
func (r *reader) alias(c *Command) {
	r.dirs = nil // it runs later
	for _, w := range c.Words[1:] {
		name, value, found := strings.Cut(w.Text, "=")
		if w.Kind != Literal || found && name != "" {
			r.line(c, Word{value, w.Kind})
		}
	}
}

// findExec adds the commands of find -exec and its kin.
func (r *reader) findExec(c *Command) {
	r.findWords(c, c.Words, len(c.cases) == 0)
	for _, words := range c.cases {
		r.findWords(c, words, true)
	}
}

// findWords adds what find runs with these words. final: a word that is not known will not be looked at with its values.
func (r *reader) findWords(c *Command, words []Word, final bool) {
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
			r.run(inner)
		}
		i = end
	}
}

func (r *reader) fdExec(c *Command) {
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
			r.run(inner)
			return
		}
	}
}

// gitRuns adds the commands in the words of git: aliases given by -c, bisect run, submodule foreach, rebase --exec.
func (r *reader) gitRuns(c *Command) {
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

// replaced is the text in the words of xargs that it puts what it reads in the place of; "" if there is none.
func (c *Command) replaced() string {
	for i, w := range c.Words {
		switch {
		case (w.Text == "-I" || w.Text == "-J") && i+1 < len(c.Words):
			return c.Words[i+1].Text
		case w.Text == "-i" || w.Text == "--replace":
			return "{}"
		case strings.HasPrefix(w.Text, "--replace="):
			return strings.TrimPrefix(w.Text, "--replace=")
		case strings.HasPrefix(w.Text, "-I"), strings.HasPrefix(w.Text, "-J"), strings.HasPrefix(w.Text, "-i"):
			return w.Text[2:]
		}
	}
	return ""
}

// marked reports whether what runs c puts a text that is not known into a word.
func (c *Command) marked(w Word) bool {
	return c.mark != "" && w.Kind == Literal && strings.Contains(w.Text, c.mark)
}

// wraps reports whether a command runs another one.
func (c *Command) wraps() bool {
	return wrapperOf(c.base()).wraps || slices.Contains(shells, c.base()) || slices.Contains(changesShellState, c.base())
}
