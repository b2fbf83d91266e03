package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Where a sandbox enforces that a command only reads, and only what it may, a command is judged by its program and its
// literal flags alone: whatever its other words come to, nothing is written, reached or disclosed. Literal paths are
// still reported, so that the user is asked before a secret or a file elsewhere is read.

// ProveHeld is Prove for a command that runs in such a sandbox.
func (c *Command) ProveHeld() Proof {
	p := c.Prove()
	if p.Why != "" {
		p = c.proveHeld()
	}
	p.Unless, p.Versions, p.Tools = nil, nil, nil // a program from elsewhere doesn't run there
	p.Trees = nil                                 // files outside the workspace can't be read, and git's objects aren't hidden
	return p
}

func (c *Command) proveHeld() Proof {
	if why := c.heldSurroundings(); why != "" {
		return Proof{Why: why}
	}
	if c.keyword || len(c.Words) == 0 || c.wrapsOnly() || c.wrapsLine() || c.guessedByFind() {
		return c.held(nil)
	}
	if len(c.cases) > 0 {
		all := Proof{Open: true}
		for _, words := range c.cases {
			one := *c
			one.Words, one.cases, one.program = words, nil, ""
			p := one.proveHeld()
			if p.Why != "" {
				return p
			}
			all.Touches, all.Git = append(all.Touches, p.Touches...), append(all.Git, p.Git...)
		}
		return all
	}
	if c.Name() == "" {
		return Proof{Why: notLiteral(c.Words[0].Text)}
	}
	name, words := systemName(c.Name()), c.Words[1:]
	if c.mark != "" {
		words = slices.Clone(words)
		for i, w := range words {
			if c.marked(w) {
				words[i].Kind = Unknown
			}
		}
	}
	if c.isVersion(name) {
		return c.held(nil)
	}
	switch name {
	case "git":
		return c.heldGit(words)
	case "find":
		return c.heldFind(words)
	case "tar", "unzip", "zipinfo":
		return c.proveArchive(name)
	case "go":
		return c.heldGo(words)
	}
	if interprets, ok := heldInterpreters()[trimVersion(name)]; ok {
		return c.heldCode(name, interprets, words)
	}
	if subs, ok := heldSubcommands[name]; ok {
		return c.heldSubcommand(name, subs, words)
	}
	s, ok := heldSpecs[name]
	if !ok {
		s, ok = specs[name]
	}
	if !ok {
		return unlisted(name)
	}
	return c.heldSpec(name, name, s, words)
}

// heldSpec judges the words of a command with the flags of a spec. key is its name in heldSets.
func (c *Command) heldSpec(name, key string, s spec, words []Word) Proof {
	s.held = true
	set := heldSets()[key]
	var a *args
	var why string
	switch {
	case s.raw:
		a = &args{cmd: c, operands: words, ended: 0}
	case s.exact != "":
		known := slices.DeleteFunc(slices.Clone(words), func(w Word) bool { return w.Kind != Literal })
		if a, why = parseExact(c, known, set); why == "" {
			a.operands = append(a.operands, slices.DeleteFunc(slices.Clone(words), func(w Word) bool { return w.Kind == Literal })...)
		}
	default:
		a, why = parseArgs(c, words, set, s)
	}
	if why == "" && (s.most > 0 && len(a.operands) > s.most || s.operands == nothing && len(a.operands) > 0) {
		why = key + " with more arguments is not on the read-only list"
	}
	if why == "" {
		why = heldCheck(name, s, a)
	}
	if why != "" {
		return Proof{Why: why}
	}
	return c.held(a.heldTouches(name, s, set))
}

// heldCheck runs the check of a spec on the words that are known.
func heldCheck(name string, s spec, a *args) string {
	if s.check == nil || slices.Contains([]string{"tac", "uniq", "xxd", "cmp"}, name) { // these might write
		return ""
	}
	known := *a
	first := len(a.operands) > 0 && a.operands[0].Kind != Literal
	switch {
	case name == "read":
		return checkHeldRead(a)
	case name == "xargs":
		return checkHeldXargs(a)
	case first && s.operands == program && strings.HasSuffix(name, "awk"):
		text := strings.TrimSuffix(strings.TrimPrefix(a.operands[0].Text, `"`), `"`) // as it is written
		known.operands = append([]Word{{text, Literal}}, a.operands[1:]...)
		return s.check(&known)
	case first && (s.operands == program || name == "printf"):
		return ""
	case s.operands == program:
		for i, f := range a.flags {
			if f.value.Kind != Literal {
				known.flags = slices.Delete(slices.Clone(a.flags), i, len(a.flags))
				break
			}
		}
		if len(known.flags) < len(a.flags) && len(a.operands) == 0 {
			return ""
		}
	default:
		known.operands = literals(a.operands)
	}
	return s.check(&known)
}

func literals(words []Word) []Word {
	return slices.DeleteFunc(slices.Clone(words), func(w Word) bool { return w.Kind > Glob })
}

// heldTouches are the files among the words that are literal, and the patterns.
func (a *args) heldTouches(name string, s spec, set flagSet) []Touch {
	var ts []Touch
	for _, f := range a.flags {
		chooses := slices.Contains([]string{"--include", "-g", "--glob", "--iglob"}, f.name) && !strings.ContainsAny(f.value.Text, "!*?[{")
		if f.value.Kind == Literal && (set[f.name] == reading || chooses) {
			ts = append(ts, Touch{Path: f.value.Text})
		}
	}
	files := a.operands
	if name == "test" || name == "[" || name == "[[" {
		return append(ts, slices.DeleteFunc(tested(files), func(t Touch) bool { return strings.ContainsAny(t.Path, "$`\"") })...)
	}
	switch s.operands {
	case nothing, plain:
		return ts
	case pattern, program:
		if len(files) > 0 && !a.has("-e", "-f", "--regexp", "--file", "--expression", "--files", "--type-list") {
			files = files[1:]
		}
	}
	for _, w := range files {
		if w.Kind <= Glob && w.Text != "-" {
			ts = append(ts, Touch{Path: w.Text, Glob: w.Kind == Glob, Names: s.operands == listed})
		}
	}
	return ts
}

// held makes a proof of what is touched, with the patterns among the words and the files that are redirected from.
func (c *Command) held(ts []Touch) Proof {
	p := Proof{Open: true}
	dirs := c.Dirs
	if dirs == nil && c.start != "" {
		dirs = []string{c.start} // a secret's name is one anywhere
	}
	add := func(t Touch, dirs []string) {
		if p.Why == "" && (path.IsAbs(t.Path) || dirs != nil) && !c.place(&p, t, dirs) {
			p.Open = true
		}
	}
	for _, t := range ts {
		add(t, dirs)
	}
	for _, w := range append(slices.Clip(c.Words), c.globs...) {
		if w.Kind == Glob && c.Name() != "[[" {
			add(Touch{Path: w.Text, Glob: true, Names: true}, dirs)
		}
	}
	for _, d := range c.Redirs {
		for _, w := range append(slices.Clip(d.cases), d.Target) {
			if d.File && w.Kind <= Glob {
				add(Touch{Path: w.Text, Glob: w.Kind == Glob}, dirs)
			}
		}
	}
	return p
}

// heldSurroundings says what around the words of a command needs approval even in the sandbox.
func (c *Command) heldSurroundings() string {
	switch {
	case c.Place == Function:
		return "it is in a function"
	case c.By != nil && !c.By.runsJudged():
		return "it is run by " + c.By.Name()
	}
	for _, a := range c.Prefix {
		switch {
		case heldVar(a.Name) && len(c.Words) == 0, harmlessAssign(a), a.Name == "IFS" && c.Name() == "read" && !a.Odd:
		case slices.Contains([]string{"GOOS", "GOARCH", "CGO_ENABLED", "NODE_ENV", "PYTHONDONTWRITEBYTECODE"}, a.Name) && !a.Odd && len(c.Words) > 0:
		default:
			return "it sets the variable " + a.Name
		}
	}
	for _, d := range c.Redirs {
		switch {
		case strings.Trim(d.Number, "0123456789") != "":
			return "it opens a file descriptor by name"
		case d.Write && d.File:
			return "it writes to " + d.Target.Text
		}
	}
	return ""
}

// runsJudged reports whether c runs nothing but what is judged as a command of its own.
func (c *Command) runsJudged() bool {
	name := systemName(c.Name())
	return c.keyword || slices.Contains(harmlessWrappers, c.Name()) || name == "find" || name == "xargs" || c.wrapsLine()
}

// wrapsLine reports whether c is bash -c with a literal line, whose commands are judged on their own.
func (c *Command) wrapsLine() bool {
	name := systemName(c.Name())
	return (name == "bash" || name == "sh") && len(c.Words) > 2 && c.Words[1] == Word{"-c", Literal} && c.Words[2].Kind == Literal && !c.marked(c.Words[2])
}

// guessedByFind reports whether c is a word of find that might be an -exec, but isn't what one runs.
func (c *Command) guessedByFind() bool {
	if !c.AddsArgs || c.By == nil || systemName(c.By.Name()) != "find" || len(c.Words) != 1 || c.Words[0].Kind == Literal {
		return false
	}
	for i, w := range c.By.Words[1:] {
		if w.Text == c.Words[0].Text && (strings.HasPrefix(c.By.Words[i].Text, "-exec") || strings.HasPrefix(c.By.Words[i].Text, "-ok")) {
			return false
		}
	}
	return true
}

// noteLoop notes a C-style for loop, whose arithmetic the sandbox holds, or a select, which may set any variable.
func (r *reader) noteLoop(c *syntax.ForClause) {
	if c.Select {
		r.note("has a select", c)
		return
	}
	r.noteHeld("has a C-style for loop", c)
}

// heldVar reports whether a variable of the shell, which isn't exported, may have any value: its name means nothing to
// the shell or to a program.
func heldVar(name string) bool {
	if isScratchVar(name) {
		return true
	}
	if name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || keep[name] || slices.Contains(shellVars, name) {
		return false
	}
	return !slices.ContainsFunc(programVars, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// shellVars are variables that the shell itself uses, and programVars the beginnings of those that programs use.
var (
	shellVars   = strings.Fields("PATH IFS ENV CDPATH SHELLOPTS GLOBIGNORE FIGNORE OPTIND OPTARG OPTERR PWD OLDPWD PPID UID EUID RANDOM SECONDS MAILPATH MAIL EXECIGNORE FUNCNEST TIMEFORMAT COMPREPLY REPLY EDITOR VISUAL")
	programVars = strings.Fields("BASH LC_ LD_ DYLD_ GIT_ PYTHON NODE_ NPM_ PIP_ GO RUST CARGO PERL RUBY JAVA PS PROMPT_ HIST POSIX LESS MAN PAGER RIPGREP_ GREP_ JQ_ AWK TMOUT INPUTRC XDG_ SSH_ HTTP HTTPS NO_ ALL_ MALLOC GLIBC GCONV OPENSSL ADZE _")
)

// heldGit judges git: a literal subcommand that only looks, with its literal flags.
func (c *Command) heldGit(words []Word) Proof {
	dirs := c.Dirs
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
		switch w := words[0]; {
		case w.Kind != Literal:
			return Proof{Why: notLiteral(w.Text)}
		case slices.Contains([]string{"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"}, w.Text):
			words = words[1:]
		case w.Text == "-c" && len(words) > 1 && words[1].Kind == Literal && plainSetting(words[1].Text):
			words = words[2:]
		case w.Text == "-C" && len(words) > 1:
			if dirs = into(dirs, words[1].Text); words[1].Kind != Literal {
				dirs = nil
			}
			words = words[2:]
		default:
			return Proof{Why: "git " + w.Text + " is not on the read-only list"}
		}
	}
	if len(words) == 0 || words[0].Kind != Literal {
		return Proof{Why: "the git subcommand can't be determined"}
	}
	name := words[0].Text
	s, ok := gitSpecs[name]
	if !ok {
		return unlisted("git " + name)
	}
	s.held = true
	a, why := parseArgs(c, words[1:], flagSets()["git "+name], s)
	if why == "" {
		why = checkGit(name, s, a)
	}
	if why != "" {
		return Proof{Why: why}
	}
	at := *c
	at.Dirs = dirs
	p := at.held(a.gitHeldTouches(name, s))
	if p.Git = dirs; dirs == nil {
		p.Git = []string{c.start}
	}
	if slices.Contains(gitQuiet, name) {
		p.Git = nil
	}
	p.Objects = slices.Contains(showingObjects, name)
	return p
}

// showingObjects are the subcommands of git that may show contents.
var showingObjects = strings.Fields("log show diff diff-tree diff-index diff-files whatchanged reflog stash blame annotate grep cat-file")

// gitHeldTouches are the paths among the literal words of git, also behind a colon: HEAD:path.
func (a *args) gitHeldTouches(name string, s spec) []Touch {
	ts := []Touch{{Path: ".", Names: true}}
	files := a.operands
	switch {
	case s.operands == plain:
		files = nil
	case s.operands == pattern && len(files) > 0 && a.ended != 0 && !a.has("-e", "-f"):
		files = files[1:]
	}
	for _, f := range a.flags {
		if f.value.Kind == Literal && flagSets()["git "+name][f.name] == reading {
			ts = append(ts, Touch{Path: f.value.Text})
		}
		if f.name == "-L" { // -L1,5:path
			ts = append(ts, Touch{Path: f.value.Text[strings.LastIndexByte(f.value.Text, ':')+1:]})
		}
	}
	for _, w := range files {
		if w.Kind == Literal && strings.Count(w.Text, ":") <= maxColons {
			ts = append(ts, gitPaths(w, Touch{Names: s.operands == listed})...)
		}
	}
	return ts
}

// heldFind judges find: tests that only look, whatever they compare with. What -exec runs is judged on its own.
func (c *Command) heldFind(words []Word) Proof {
	var ts []Touch
	for len(words) > 0 && (!isFindTest(words[0].Text) || slices.Contains([]string{"-L", "-H", "-P", "-E"}, words[0].Text)) {
		if w := words[0]; w.Kind == Literal && !strings.HasPrefix(w.Text, "-") {
			ts = append(ts, Touch{Path: w.Text, Names: true})
		}
		words = words[1:]
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w.Kind != Literal:
		case comparesWith(w.Text):
			if i++; i < len(words) && words[i].Kind == Literal && !strings.HasSuffix(w.Text, "t") {
				ts = append(ts, Touch{Path: words[i].Text, Names: true})
			}
		case w.Text == "-exec" || w.Text == "-execdir":
			end := execEnd(words, i)
			if end >= len(words) || end == i+1 {
				return Proof{Why: "can't find the end of -exec"}
			}
			i = end
		default:
			n, ok := findTests[w.Text]
			if !ok {
				return Proof{Why: "find " + w.Text + " is not on the read-only list"}
			}
			i += n
		}
	}
	return c.held(ts)
}

// checkHeldXargs: what xargs runs must be literal, and is judged on its own.
func checkHeldXargs(a *args) string {
	if len(a.operands) == 0 {
		return ""
	}
	for _, f := range a.flags { // -Iecho echo runs what it reads
		if f.name == "-I" && (f.value.Kind != Literal || f.value.Text == "" || strings.Contains(a.operands[0].Text, f.value.Text)) {
			return "xargs chooses the command at run time"
		}
	}
	return when(a.operands[0].Kind != Literal, "xargs chooses the command at run time")
}

// checkHeldRead: the names that read and mapfile set mean nothing to any program.
func checkHeldRead(a *args) string {
	for _, w := range a.operands {
		if w.Kind != Literal || !heldVar(w.Text) {
			return "it sets the variable " + w.Text
		}
	}
	return ""
}
