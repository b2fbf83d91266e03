package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What find, rg -l and grep -rl print are names of files below the folders they start in. Where xargs or read make
// words of them, a command with such words is harmless if it is so with every file there, as one behind find -exec is.
// Names that lines or blanks part must hold none themselves: a folder called "x " with home/me/.ssh in it makes a word
// of /home/me/.ssh.

// listing is a command that prints names of files.
type listing struct {
	below  []Touch  // where they are, and how it looks for them
	null   bool     // NULs part them
	dirs   []string // where it runs
	number int      // among those of a line
	unsure bool     // there are others, and which of them a name comes from is not known
}

// listing is what a statement lists; nil if it is not known to print names of files and nothing else.
func (r *reader) listing(s *syntax.Stmt) *listing {
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		filter := r.plainCall(c.Y)
		if c.Op != syntax.Pipe || filter == nil || decorated(s) {
			return nil
		}
		if l := r.listing(c.X); l != nil && keepsLines(filter, l.null) {
			return l
		}
	case *syntax.CallExpr:
		words := r.plainCall(s)
		if words == nil || r.dirs == nil {
			return nil
		}
		l := (&Command{Words: words}).listing()
		if l == nil {
			return nil
		}
		for _, t := range l.below {
			if !l.null && !only(t.Path, &plainSet) {
				return nil
			}
		}
		l.dirs = r.dirs
		return l
	}
	return nil
}

// plainCall are the words of a statement that is a simple command of literal words; nil if there is more to it than
// what it complains about being thrown away.
func (r *reader) plainCall(s *syntax.Stmt) []Word {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) > 0 || s.Negated || s.Background || s.Coprocess || s.Disown || !thrownAway(s.Redirs) {
		return nil
	}
	var words []Word
	for _, w := range c.Args {
		words = append(words, r.words(w)...)
	}
	if slices.ContainsFunc(words, func(w Word) bool { return w.Kind != Literal }) {
		return nil
	}
	return words
}

// thrownAway reports whether redirections are 2>/dev/null and no more.
func thrownAway(redirs []*syntax.Redirect) bool {
	return !slices.ContainsFunc(redirs, func(d *syntax.Redirect) bool {
		return d.Op != syntax.RdrOut || d.N == nil || d.N.Value != "2" || d.Word.Lit() != "/dev/null"
	})
}

// listing is what a command with literal words lists.
func (c *Command) listing() *listing {
	name := systemName(c.Name())
	switch name {
	case "find":
		return c.findListing()
	case "git":
		return c.trackedListing()
	case "rg", "grep", "egrep", "fgrep":
	default:
		return nil
	}
	a, why := parseArgs(c, c.Words[1:], flagSets()[name], specs[name])
	if why != "" {
		return nil
	}
	for _, f := range a.flags {
		if !slices.Contains(strings.Fields(listingFlags), f.name) {
			return nil
		}
	}
	t := a.reach(name, specs[name])
	lists := a.has("-l", "--files-with-matches", "--files-without-match") || name == "rg" && a.has("--files")
	files := a.operands
	if len(files) > 0 && !a.has("-e", "--regexp") && !(name == "rg" && a.has("--files")) {
		files = files[1:]
	}
	if !lists || !t.Below || len(files) == 0 && name != "rg" || name == "rg" && !a.limited() {
		return nil // what is hidden as well: who knows
	}
	l := &listing{null: a.has("--null") || a.has("-0") && name == "rg" || a.has("-Z") && name != "rg"}
	t.Plain = !l.null
	if len(files) == 0 { // names without a folder in front, which may be flags; or <stdin>
		t.Plain, t.Links = true, true
		files = []Word{{".", Literal}}
	}
	for _, w := range files {
		if t.Path = w.Text; t.Path == "-" || t.Path == "" {
			return nil
		}
		l.below = append(l.below, t)
	}
	return l
}

// listingFlags are flags of rg and grep with which -l prints names and nothing else.
const listingFlags = "-l -r -R -i -E -F -P -w -x -v -n -s -S -I -U -Z -0 -e -g -t -T -u -L -. --files --files-with-matches --files-without-match --recursive --null --ignore-case " +
	"--smart-case --fixed-strings --extended-regexp --perl-regexp --word-regexp --regexp --include --exclude --exclude-dir --glob --iglob --type --type-not --hidden --no-ignore " +
	"--no-ignore-vcs --follow --sort --max-depth"

// findListing is what find lists.
func (c *Command) findListing() *listing {
	starts, e := c.findExpression()
	if slices.ContainsFunc(c.Words, func(w Word) bool {
		return slices.Contains([]string{"-L", "-H", "-follow", "-printf", "-ls", "-exec"}, w.Text)
	}) || e.nulls && e.lines {
		return nil
	}
	l := &listing{null: e.nulls}
	for _, w := range starts {
		l.below = append(l.below, Touch{Path: w.Text, Below: true, Links: true, Only: e.printed(), Plain: !l.null})
	}
	return l
}

// trackedListing is what git ls-files lists: names without a folder in front, which may be flags and lead through links.
func (c *Command) trackedListing() *listing {
	if len(c.Words) < 2 || c.Words[1].Text != "ls-files" {
		return nil
	}
	a, why := parseArgs(c, c.Words[2:], flagSets()["git ls-files"], gitSpecs["ls-files"])
	if why != "" {
		return nil
	}
	for _, f := range a.flags {
		if f.name != "-z" && f.name != "-c" && f.name != "--cached" {
			return nil
		}
	}
	l := &listing{null: a.has("-z")}
	t := Touch{Path: ".", Below: true, Links: true, Tracked: true, Plain: true}
	for _, w := range a.operands {
		end, ok := gitEnding(w)
		if !ok || strings.Contains(end, "/") {
			return nil
		}
		if t.Path = "."; end == "" {
			t.Path = w.Text
		}
		l.below = append(l.below, t)
	}
	if len(a.operands) == 0 {
		l.below = []Touch{t}
	}
	return l
}

// keepsLines reports whether a filter prints some of the lines it reads, each as it is.
func keepsLines(words []Word, null bool) bool {
	operands, letters := 0, ""
	for _, w := range words[1:] {
		if len(w.Text) > 1 && w.Text[0] == '-' {
			letters += w.Text[1:]
		} else {
			operands++
		}
	}
	switch words[0].Text {
	case "sort":
		return operands == 0 && strings.Trim(letters, "urnfVbdhz") == "" && strings.Contains(letters, "z") == null
	case "head", "tail": // -5, -n5, -n 5, -n +5
		count := strings.TrimPrefix(letters, "n")
		if operands == 1 && letters == "n" && words[1].Text == "-n" {
			count, operands = strings.TrimPrefix(words[2].Text, "+"), 0
		}
		return !null && operands == 0 && strings.Trim(count, "0123456789") == "" && (count != "" || len(words) == 1)
	case "uniq":
		return !null && len(words) == 1
	case "grep", "egrep":
		return !null && operands == 1 && strings.Trim(letters, "viEFPwx") == ""
	}
	return false
}

// lists takes note of a listing whose names are the values of a variable.
func (r *reader) lists(l *listing) {
	if r.list == nil {
		r.list = r.numbered(l)
	} else if !slices.Equal(r.list.below, l.below) || !slices.Equal(r.list.dirs, l.dirs) || r.list.null != l.null {
		r.list.unsure = true
	}
}

func (r *reader) numbered(l *listing) *listing {
	r.listings++
	l.number = r.listings
	return l
}

// fed reads the right side of a pipe with the names that the left side prints: to xargs, or to while read NAME.
func (r *reader) fed(c *syntax.BinaryCmd, read func()) {
	loop, isLoop := c.Y.Cmd.(*syntax.WhileClause)
	call, isCall := c.Y.Cmd.(*syntax.CallExpr)
	toXargs := isCall && len(call.Args) > 0 && len(call.Assigns) == 0 && systemName(call.Args[0].Lit()) == "xargs"
	if c.Op != syntax.Pipe || !toXargs && !isLoop || !thrownAway(c.Y.Redirs) || strings.Contains(r.source, foundMark) {
		read()
		return
	}
	name, one := "", isCall
	if isLoop {
		name, one = r.readName(loop)
	}
	var l *listing
	if one {
		l = r.listing(c.X)
	}
	switch {
	case l == nil:
		read()
	case isCall:
		r.feed = r.numbered(l)
		read()
		r.feed = nil
	case !l.null:
		r.lists(l)
		old := r.scope.values[name]
		r.scope.values[name] = []Word{{"./" + foundMark, Literal}}
		read()
		r.scope.values[name] = old
	default:
		read()
	}
}

// readName is the variable of while read NAME, if it is given a value there and nowhere else.
func (r *reader) readName(c *syntax.WhileClause) (name string, ok bool) {
	if c.Until || len(c.Cond) != 1 || decorated(c.Cond[0]) {
		return "", false
	}
	call, isCall := c.Cond[0].Cmd.(*syntax.CallExpr)
	if !isCall {
		return "", false
	}
	words, plain := plainWords(call.Args)
	if !plain || len(words) < 2 || words[0].Text != "read" {
		return "", false
	}
	names, ok := reads(words[1:])
	if !ok || len(names) != 1 || r.scope.reads[names[0]] != 1 || !slices.Equal(r.scope.values[names[0]], []Word{{Kind: AnyText}}) {
		return "", false
	}
	return names[0], true
}
