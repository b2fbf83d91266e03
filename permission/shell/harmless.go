package shell

import (
	"path"
	"slices"
	"strings"
)

// Touch is a path that a command would look at or change.
type Touch struct {
	// Path is absolute and not resolved: links and .. are still in it. Where Glob is set it is a pattern.
	Path  string
	Glob  bool
	Write bool
	Below bool   // and all below it
	Names bool   // only names and attributes are looked at, not contents
	Links bool   // links below it are followed
	Sure  bool   // it is looked at or changed for sure, not only named in a word
	Spec  bool   // the pattern is git's: its stars stand for slashes and leading dots too
	Top   bool   // git counts it from the top of the repository
	Only  string // with Below: the pattern that all names have which are looked into
	// Tracked, with Below: what git has in its index is looked at and nothing else.
	Tracked bool
	Plain   bool // with Below: the names of what is there are words, taken apart at their blanks
	Flag    bool // a name that the pattern stands for would be a flag with a minus in front, and change what is read
	// InFolder: only if what it lies in is a folder.
	InFolder bool
	Present  bool // only if it is there: a word of a program
	Vague    bool // something below it, nobody knows what: of interest to rules on paths alone
	// Index: what git has in its index at or below it is read, with Top all of it, and of interest to rules on paths alone.
	Index bool
}

// Proof says whether a command is harmless: it changes no file, reaches no network and runs nothing from the workspace.
type Proof struct {
	Why string // why it is not known to be harmless; "": it is
	// Unlisted is the program, with its subcommand, if Why is that it's not on the read-only list.
	Unlisted string
	Touches  []Touch // what it looks at, if it is harmless
	// Git are the folders in which git runs. It is harmless there only if no program is configured in the repository.
	Git []string
	// Unless are files with which it would do something else: run a program that the folder chooses, for one.
	Unless []string
	// Open: other files than Touches may be read too, because words expand at run time.
	Open bool
	// Objects: what git keeps of any file may be shown.
	Objects bool
	// Versions are the folders in which it asks a tool for its version: a file there or above may choose the tool. See
	// [ToolchainFiles] and [VersionFiles].
	Versions []string
	// Tools are these tools, as the command names them: a program of a version manager may do more than print a version.
	// See [VersionManagers].
	Tools []string
	// Trees are what git shows of a whole repository, which may begin above the workspace.
	Trees []Tree

	size int // of the paths
}

// Tree is something that git shows, counted from the top of the repository around a folder.
type Tree struct {
	Dir   string
	Touch Touch
	// Unless is a path that limits what is shown to itself, if it is there; "": nothing does.
	Unless string
}

// unlisted is the proof of a command that is not on the read-only list.
func unlisted(name string) Proof {
	return Proof{Why: name + " is not on the read-only list", Unlisted: name}
}

// notLiteral is why a word that the shell expands is not read-only.
func notLiteral(word string) string {
	return word + " expands at run time, so its value can't be checked"
}

// Prove says whether a command is harmless, whatever its paths are: they still have to be judged.
func (c *Command) Prove() Proof {
	p := c.prove()
	if c.fed == nil || !slices.ContainsFunc(p.Touches, func(t Touch) bool { return strings.Contains(t.Path, foundMark) }) {
		return p
	}
	if c.fed.unsure || !slices.Equal(c.fed.dirs, c.Dirs) {
		return Proof{Why: "can't determine which file it reads"}
	}
	return c.proveBelow(p.Touches, c.fed.below)
}

// prove is Prove, with a mark in the place of names that are found.
func (c *Command) prove() Proof {
	if c.runByFind() {
		return c.proveFound()
	}
	if c.printsForXargs() {
		return Proof{}
	}
	if c.fedByXargs() {
		return c.proveFed()
	}
	if why := c.surroundings(); why != "" {
		return Proof{Why: why}
	}
	if len(c.cases) > 0 {
		return c.proveCases()
	}
	name := systemName(c.Name())
	if c.keyword || c.wrapsOnly() {
		return c.proved(nil) // what it is redirected from
	}
	if c.isVersion(name) {
		return c.proveVersion(name)
	}
	if len(c.Words) == 0 {
		var ts []Touch // what it sets and opens was looked at
		for _, w := range c.globs {
			ts = append(ts, Touch{Path: w.Text, Glob: true, Names: true})
		}
		return c.proved(ts)
	}
	if c.Name() == "" {
		return Proof{Why: notLiteral(c.Words[0].Text)}
	}
	s, ok := specs[name]
	if !ok {
		if c.asksVersion() {
			return Proof{Why: name + " may read project files or contact a server before it prints its version"}
		}
		return unlisted(name)
	}
	switch name {
	case "git":
		return c.proveGit()
	case "find":
		return c.proveFind()
	case "tar", "unzip", "zipinfo":
		return c.proveArchive(name)
	case "xargs":
		return c.proveXargs()
	}
	words := c.Words[1:]
	if i := slices.IndexFunc(words, func(w Word) bool { return w.Kind == PublicVar }); i >= 0 && !s.publicVars {
		return Proof{Why: notLiteral(words[i].Text)}
	}
	var a *args
	var why string
	switch {
	case s.raw:
		a, why = rawArgs(c, words)
	case s.exact != "":
		a, why = parseExact(c, words, flagSets()[name])
	default:
		a, why = parseArgs(c, words, flagSets()[name], s)
	}
	if why == "" && s.most > 0 && len(a.operands) > s.most || why == "" && s.operands == nothing && len(a.operands) > 0 {
		why = name + " with more arguments is not on the read-only list"
	}
	if why == "" && s.check != nil {
		why = s.check(a)
	}
	if why != "" {
		return Proof{Why: why}
	}
	switch name {
	case "go":
		return c.proveVersion(name)
	case "tac":
		return c.proveSeekable(a.touches(name, s))
	}
	return c.proved(a.touches(name, s))
}

// proveSeekable is proved for a command that makes a copy of what it cannot read backwards: a folder, for one.
func (c *Command) proveSeekable(ts []Touch) Proof {
	p := c.proved(ts)
	for _, t := range p.Touches {
		p.Unless = append(p.Unless, t.Path+"/.")
	}
	return p
}

// harmlessWrappers run a command and do nothing else.
var harmlessWrappers = []string{"timeout", "nice", "command"}

// wrapsOnly reports whether c is such a wrapper, with a command that is judged on its own.
func (c *Command) wrapsOnly() bool {
	if !slices.Contains(harmlessWrappers, c.Name()) || queries(c) {
		return false
	}
	w := wrappers[c.Name()]
	rest, unsure := skipOptions(c, w)
	if unsure || len(rest) <= w.operands {
		return false
	}
	for _, word := range c.Words[:len(c.Words)-len(rest)+w.operands+1] {
		if word.Kind != Literal {
			return false
		}
	}
	return true
}

// rawArgs takes every word for an operand.
func rawArgs(c *Command, words []Word) (*args, string) {
	comparing := comparesOnly(c, words)
	name := systemName(c.Name())
	printing := name == "echo" || name == "printf"
	for _, w := range words {
		if w.Kind == Unknown && !(comparing && isOneParam(w.Text)) || w.Kind == AnyText && !comparing && !printing {
			return nil, notLiteral(w.Text)
		}
	}
	return &args{cmd: c, operands: words, ended: 0}, ""
}

// comparesOnly reports whether test has so few words that none of them can be taken for an operator but the one that
// is: WORD, -z WORD, ! -n WORD, WORD = WORD, WORD -gt WORD. Numbers are not calculated by test, as they are by [[.
func comparesOnly(c *Command, words []Word) bool {
	switch c.Name() {
	case "[":
		if len(words) == 0 || words[len(words)-1].Text != "]" {
			return false
		}
		words = words[:len(words)-1]
	case "test":
	default:
		return false
	}
	size := func(w Word) bool { return w.Kind == Literal && (w.Text == "-z" || w.Text == "-n") }
	switch len(words) {
	case 1:
		return true
	case 2:
		return size(words[0])
	case 3:
		compares := words[1].Kind == Literal && slices.Contains(comparing, words[1].Text)
		return compares || words[0].Kind == Literal && words[0].Text == "!" && size(words[1])
	}
	return false
}

// comparing are the operators of test that compare two words, of which neither is a file.
var comparing = []string{"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"}

// isOneParam reports whether a word, as it is written, is a variable in double quotes: one word, whatever its value.
func isOneParam(source string) bool {
	name, ok := strings.CutPrefix(source, `"$`)
	if !ok {
		return false
	}
	if name, ok = strings.CutSuffix(name, `"`); !ok {
		return false
	}
	if strings.HasPrefix(name, "{") && strings.HasSuffix(name, "}") {
		name = name[1 : len(name)-1]
	}
	return isName(strings.TrimRight(name, "0123456789"))
}

// surroundings says what around the words keeps a command from being harmless.
func (c *Command) surroundings() string {
	switch {
	case c.Place == Function:
		return "it is in a function"
	case c.Place == Text, c.AddsArgs, c.By != nil && !c.By.keyword && !slices.Contains(harmlessWrappers, c.By.Name()):
		return "it is run by " + c.By.Name()
	}
	for _, a := range c.Prefix {
		if a.Name == "IFS" && c.Name() == "read" && !a.Odd && a.Value.Kind == Literal {
			continue // for this one line that is read
		}
		if !harmlessAssign(a) && !(len(c.Words) == 0 && isScratchVar(a.Name) && !a.Odd && (a.Value.Kind == Literal || a.Value.Kind == Glob || a.Told)) {
			if len(c.Words) == 0 && isScratchVar(a.Name) {
				return "it sets the variable " + a.Name + " to an unknown value"
			}
			return "it sets the variable " + a.Name
		}
	}
	for _, d := range c.Redirs {
		switch {
		case d.Number != "" && strings.Trim(d.Number, "0123456789") != "":
			return "it opens a file descriptor by name"
		case d.Write && d.File:
			return "it writes to " + d.Target.Text
		case d.Target.Kind != Literal && len(d.cases) == 0:
			return "its redirection expands at run time, so it can't be checked"
		}
	}
	return ""
}

// harmlessAssign reports whether an assignment before a command changes nothing but its language, its clock's zone or
// its colours.
func harmlessAssign(a Assign) bool {
	if a.Odd || a.Value.Kind != Literal {
		return false
	}
	v := a.Value.Text
	switch a.Name {
	case "LC_ALL", "LANG", "LC_COLLATE", "LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LC_MESSAGES":
		return plainLocale(v)
	case "TZ":
		return plainZone(v)
	case "GIT_OPTIONAL_LOCKS":
		return v == "0"
	case "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "COLUMNS":
		return strings.Trim(v, "0123456789truefals") == ""
	case "GIT_PAGER", "PAGER":
		return v == "cat" || v == ""
	}
	return false
}

// plainZone reports whether a time zone is a name, and no path of a file elsewhere.
func plainZone(v string) bool {
	return strings.Trim(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/") == "" && !strings.HasPrefix(v, "/")
}

// plainLocale reports whether a backslash is a backslash in a language: in Big5, GBK and Shift JIS it may be the second
// half of a character, and then a text ends elsewhere.
func plainLocale(v string) bool {
	name, set, _ := strings.Cut(v, ".")
	set = strings.ToUpper(strings.ReplaceAll(set, "-", ""))
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" &&
		(set == "UTF8" || set == "" && (name == "" || name == "C" || name == "POSIX" || strings.HasPrefix(name, "en_")))
}

// systemName is the name of a command, without the folder where that is the system's own.
func systemName(name string) string {
	for _, dir := range []string{"/bin/", "/usr/bin/", "/usr/local/bin/"} {
		if base, ok := strings.CutPrefix(name, dir); ok && !strings.Contains(base, "/") {
			return base
		}
	}
	return name
}

// touches are the files among the words.
func (a *args) touches(name string, s spec) []Touch {
	var ts []Touch
	set := flagSets()[name]
	for _, f := range a.flags {
		if set[f.name] == reading {
			ts = append(ts, Touch{Path: f.value.Text, Glob: f.value.Kind == Glob})
		}
	}
	files := a.operands
	if name == "test" || name == "[" || name == "[[" {
		return tested(files)
	}
	if name == "rg" && a.has("--type-list", "-V", "--version", "-h", "--help") {
		return ts // it searches nothing then
	}
	switch s.operands {
	case nothing, plain:
		return ts
	case pattern, program: // a pattern without quotes may come out as a text and files
		if a.has("-e", "-f", "--regexp", "--file", "--expression", "--files", "--type-list") || len(files) == 0 {
			break
		}
		if files[0].Kind == Literal {
			files = files[1:]
		} else if len(files) == 1 { // or as one text, and then it searches here
			files = append(files, Word{".", Literal})
		}
	}
	t := a.reach(name, s)
	for _, w := range files {
		if w.Text == "-" && w.Kind == Literal {
			continue
		}
		t.Path, t.Glob = w.Text, w.Kind == Glob
		ts = append(ts, t)
		for _, end := range guessedEndings[name] {
			if strings.Contains(w.Text, foundMark) {
				break // it is there
			}
			ts = append(ts, Touch{Path: w.Text + end, Glob: t.Glob})
		}
	}
	if name == "rg" {
		ts = append(ts, ignores(files)...)
	}
	if len(files) == 0 && slices.Contains(readsOut, name) {
		ts = append(ts, Touch{Path: "a.out"})
	}
	if lists := name == "ls" || name == "dir" || name == "vdir"; len(files) == 0 && (t.Below && !lists || t.Names && lists) {
		t.Path, t.Glob = ".", false
		ts = append(ts, t)
	}
	if len(files) == 0 && name == "cd" {
		ts = append(ts, Touch{Path: "~", Names: true})
	}
	if t.Below && !t.Names {
		ts = append(ts, a.chosen(ts)...)
	}
	return ts
}

// guessedEndings are what a command puts behind the name of a file that is not there: the file it then reads may be a
// link, or one that a rule is about.
var guessedEndings = map[string][]string{
	"gzip": {".gz", ".z", "-z", ".Z"}, "gunzip": {".gz", ".z", "-z", ".Z"}, "zcat": {".gz", ".z", "-z", ".Z"},
	"unzip": {".zip", ".ZIP"}, "zipinfo": {".zip", ".ZIP"},
}

// readsOut are the commands that read a.out where they are given no file.
var readsOut = []string{"nm", "objdump", "size"}

// chosen are the patterns with which grep and rg are told which files below a folder to look into: one that asks for
// .env asks for it by name.
func (a *args) chosen(folders []Touch) []Touch {
	var ts []Touch
	for _, f := range a.flags {
		if f.name != "--include" && f.name != "-g" && f.name != "--glob" && f.name != "--iglob" || strings.HasPrefix(f.value.Text, "!") {
			continue
		}
		patterns, ok := rgBraces(f.value.Text)
		if !ok {
			patterns = []string{"*.env"} // who knows
		}
		for _, p := range patterns {
			glob := strings.ContainsAny(p, "*?[")
			if !glob {
				p = unescaped(p)
			}
			for _, t := range folders {
				if t.Below {
					ts = append(ts, Touch{Path: join2(t.Path, strings.TrimLeft(p, "/")), Glob: glob || t.Glob, Spec: glob})
				}
			}
		}
	}
	return ts
}

// reach says how a command looks at the paths that it is given: into them or only at them, at all below them, and
// through links.
func (a *args) reach(name string, s spec) Touch {
	t := Touch{Names: s.operands == listed}
	switch name { // to sort, jq and tail -r is another thing
	case "diff": // also without -r the files in two folders are compared
		t.Below, t.Links = true, true
	case "rg":
		t.Below, t.Links = true, a.has("-L", "--follow")
	case "fd", "fdfind":
		t.Below, t.Names = true, true
	case "du":
		t.Below, t.Links = true, a.has("-L", "--dereference")
	case "tree":
		t.Below, t.Links = true, a.has("-l")
	case "grep", "egrep", "fgrep":
		t.Below = a.has("-r", "-R", "--recursive", "--dereference-recursive") || a.hasValue("recurse", "-d", "--directories")
		t.Links = a.has("-R", "--dereference-recursive")
	case "ls", "dir", "vdir":
		t.Below = a.has("-R", "--recursive")
		t.Links = t.Below && a.has("-L", "--dereference")
	}
	return t
}

// tested are the files that test looks at: what follows an operator on files, and what stands around one that compares
// two of them.
func tested(words []Word) []Touch {
	var ts []Touch
	add := func(i int) {
		if i >= 0 && i < len(words) {
			ts = append(ts, Touch{Path: words[i].Text, Glob: words[i].Kind == Glob, Names: true})
		}
	}
	for i, w := range words {
		if isFileTest(w.Text) {
			add(i + 1)
		}
		if comparesFiles(w.Text) {
			add(i - 1)
		}
	}
	return ts
}

// proved makes a proof of what is touched, with the files that are redirected from.
func (c *Command) proved(ts []Touch) Proof {
	var p Proof
	for _, t := range ts {
		if !c.place(&p, t, c.Dirs) {
			return p
		}
	}
	_ = c.placeListed(&p) && c.placeRedirs(&p)
	return p
}

// placeListed adds what the shell looks up for the patterns among the words, whatever is done with the names.
func (c *Command) placeListed(p *Proof) bool {
	raw := specs[systemName(c.Name())].raw
	for _, w := range c.Words {
		t := Touch{Path: w.Text, Glob: true, Names: true, Flag: w.canBeFlag() && !raw}
		if w.Kind == Glob && c.Name() != "[[" && !c.place(p, t, c.Dirs) {
			return false
		}
	}
	return true
}

// placeRedirs adds the files that are redirected from.
func (c *Command) placeRedirs(p *Proof) bool {
	for _, d := range c.Redirs {
		targets := d.cases
		if len(targets) == 0 {
			targets = []Word{d.Target}
		}
		for _, w := range targets {
			if d.File && !c.place(p, Touch{Path: w.Text, Glob: w.Kind == Glob}, d.Dirs) {
				return false
			}
		}
	}
	return true
}

// place puts a touch into every folder that the command may run in.
func (c *Command) place(p *Proof, t Touch, dirs []string) bool {
	t.Sure = true
	switch {
	case t.Path == "", t.Path == "/dev/null":
		return true // opens nothing
	case path.IsAbs(t.Path):
		p.Touches = append(p.Touches, t)
		return true
	case dirs == nil:
		*p = Proof{Why: "its working directory is unknown"}
		return false
	}
	for _, d := range dirs {
		at := t
		at.Path = join2(d, t.Path)
		p.Touches = append(p.Touches, at)
		if p.size += len(at.Path); p.size > maxTouched {
			*p = Proof{Why: "it names too many paths to check"}
			return false
		}
	}
	return true
}

// maxTouched bounds the paths of a proof, in bytes.
const maxTouched = 4 << 20

// join2 joins without cleaning: what .. means depends on links.
func join2(dir, name string) string {
	return strings.TrimSuffix(dir, "/") + "/" + name
}
