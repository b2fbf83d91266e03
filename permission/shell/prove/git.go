package prove

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

// gitQuiet are the subcommands that look at no file and no object, so that nothing configured can run.
var gitQuiet = []string{"version"}

// proveGit judges git: its own flags, then a subcommand with its flags.
func proveGit(c *bash.Command, words []bash.Word, held bool) Proof {
	dirs := c.Dirs
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
		switch w := words[0]; {
		case w.Kind != bash.Literal:
			return Proof{Why: program.NotLiteral(w.Text)}
		case w.Text == "--version" && len(words) == 1:
			return proof(c, nil, held)
		case slices.Contains(gitHarmlessFlags, w.Text):
			words = words[1:]
		case w.Text == "-c" && len(words) > 1 && words[1].Kind == bash.Literal && plainSetting(words[1].Text):
			words = words[2:]
		case w.Text == "-C" && len(words) > 1 && (words[1].Kind == bash.Literal || held):
			if dirs = into(dirs, words[1].Text); words[1].Kind != bash.Literal {
				dirs = nil
			}
			words = words[2:]
		default:
			return Proof{Why: "git " + w.Text + " is not on the read-only list"}
		}
	}
	if len(words) == 0 || words[0].Kind != bash.Literal {
		return Proof{Why: "the git subcommand can't be determined"}
	}
	name := words[0].Text
	p := program.ReadOnly().Find("git "+name, held)
	if p == nil {
		return unlisted("git " + name)
	}
	if dirs == nil && !held {
		return Proof{Why: "the directory that git runs in is unknown"}
	}
	a, why := program.ParseArgs(c, words[1:], p, held)
	if why == "" {
		why = checkGitFlags(name, a)
	}
	if why == "" {
		why = a.Check("git " + name)
	}
	if why != "" {
		return Proof{Why: why}
	}
	if held {
		return heldGit(c, name, a, dirs)
	}
	return gitTouches(c, name, a, dirs)
}

// gitHarmlessFlags are flags of git itself.
var gitHarmlessFlags = []string{"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"}

// heldGit is the proof of git where a sandbox enforces reads.
func heldGit(c *bash.Command, name string, a *program.Args, dirs []string) Proof {
	ts, ok := gitNamed(name, a, Touch{Names: a.Program.Operands == program.Names})
	if !ok {
		return Proof{Why: manyPaths}
	}
	at := *c
	at.Dirs = dirs
	p := proof(&at, append(ts, Touch{Path: ".", Names: true}), true)
	if p.Git = dirs; dirs == nil {
		p.Git = []string{c.Start}
	}
	if slices.Contains(gitQuiet, name) {
		p.Git = nil
	}
	p.Objects = slices.Contains(showingObjects, name)
	return p
}

// showingObjects are the subcommands of git that may show contents.
var showingObjects = strings.Fields("log show diff diff-tree diff-index diff-files whatchanged reflog stash blame annotate grep cat-file")

// gitNamed are the paths among the words of git, also behind a colon: HEAD:path. t is what they are like. ok is false if there
// are too many.
func gitNamed(name string, a *program.Args, t Touch) (ts []Touch, ok bool) {
	for _, f := range a.Flags {
		if a.Program.Flags[f.Name] == program.Reading && f.Value.Kind == bash.Literal {
			ts = append(ts, Touch{Path: f.Value.Text})
		}
		if f.Name == "-L" && strings.Contains(f.Value.Text, ":") && name != "blame" && name != "annotate" { // -L1,5:path
			ts = append(ts, Touch{Path: f.Value.Text[strings.LastIndexByte(f.Value.Text, ':')+1:]})
		}
	}
	list := a.Operands
	switch kind := a.Program.Operands; {
	case kind == program.Texts:
		return ts, true
	case kind == program.Pattern && len(list) > 0 && (a.Held || list[0].Kind == bash.Literal) && a.Ended != 0 && !a.Has("-e", "-f"):
		list = list[1:]
	}
	for _, w := range list {
		if strings.Count(w.Text, ":") > maxColons {
			return nil, false
		}
		if w.Kind == bash.Literal || !a.Held {
			ts = append(ts, gitPaths(w, t)...)
		}
	}
	return ts, true
}

// plainSetting reports whether git -c changes no more than how things look.
func plainSetting(s string) bool {
	name, value, set := strings.Cut(strings.ToLower(s), "=")
	section, _, _ := strings.Cut(name, ".")
	switch {
	case !set:
		return false
	case name == "core.pager" || section == "pager":
		return value == "cat" || value == "" || value == "false"
	case section == "color" || section == "column" || section == "advice":
		return true
	}
	return slices.Contains([]string{"core.quotepath", "core.abbrev", "log.date", "log.decorate", "diff.renames", "diff.noprefix", "diff.mnemonicprefix", "diff.context",
		"diff.renamelimit", "diff.algorithm", "core.precomposeunicode", "status.short", "status.branch", "blame.date", "grep.linenumber"}, name)
}

// checkGitFlags looks at the values of flags that may run a program.
func checkGitFlags(name string, a *program.Args) string {
	for _, f := range a.Flags {
		switch f.Name {
		case "--format", "--pretty":
			if strings.Contains(f.Value.Text, "%G") || strings.Contains(f.Value.Text, "signature") || !prettyFormat(name, f.Value.Text) {
				return "the format " + f.Value.Text + " may run a program"
			}
		case "--sort":
			if strings.Contains(f.Value.Text, "signature") {
				return "sorting by " + f.Value.Text + " may run a program"
			}
		case "--diff-merges": // remerge does the merge once more, in files of its own
			if !slices.Contains(strings.Fields("off none first-parent 1 separate m combined c dense-combined cc"), f.Value.Text) {
				return "showing merges as " + f.Value.Text + " may run a merge driver"
			}
		}
	}
	return ""
}

// prettyFormat reports whether a format says all itself: one that is a name may be configured.
func prettyFormat(name, format string) bool {
	if name != "log" && name != "show" && name != "rev-list" && name != "whatchanged" && name != "reflog" && name != "stash" && name != "diff-tree" {
		return true
	}
	return format == "" || strings.Contains(format, "%") || strings.HasPrefix(format, "format:") || strings.HasPrefix(format, "tformat:") ||
		slices.Contains([]string{"oneline", "short", "medium", "full", "fuller", "reference", "email", "raw", "mboxrd"}, format)
}

// gitTouches are the paths among the words: every operand may be one, also behind a colon (HEAD:path).
func gitTouches(c *bash.Command, name string, a *program.Args, dirs []string) Proof {
	two := name == "diff" && len(a.Operands) == 2 // outside a repository these are two folders, with -- or without
	apart := ""                                   // what is no folder: HEAD -- src, . ':!docs'
	switch {
	case two && a.Ended == 1 || two && strings.HasPrefix(a.Operands[0].Text, ":"):
		apart = a.Operands[0].Text
	case two && strings.HasPrefix(a.Operands[1].Text, ":"):
		apart = a.Operands[1].Text
	}
	below := name == "grep" || a.Has("--no-index") || two && apart == ""
	tracked := name == "grep" && !a.Has("--untracked", "--no-index")
	top := func(w bash.Word) bool {
		return strings.HasPrefix(w.Text, ":/") || strings.HasPrefix(w.Text, ":(") && strings.Contains(w.Text, "top")
	}
	if i := slices.IndexFunc(a.Operands, top); below && i >= 0 {
		return Proof{Why: "pathspec " + a.Operands[i].Text + " covers the whole repository"}
	}
	ts, ok := gitNamed(name, a, Touch{Below: below, Names: a.Program.Operands == program.Names && !below, Tracked: tracked})
	if !ok {
		return Proof{Why: manyPaths}
	}
	if name == "grep" {
		ts = append(ts, Touch{Path: ".", Below: true, Tracked: tracked})
	} else {
		ts = append(ts, Touch{Path: ".", Names: true})
	}
	p := Proof{}
	var counted []Touch // from the top of the repository
	for _, t := range ts {
		if !place(c, &p, t, dirs) {
			return p
		}
		if t.Top {
			counted = append(counted, t)
		}
		if t.Top && !slices.Equal(dirs, []string{c.Start}) && c.Start != "" {
			place(c, &p, t, []string{c.Start})
		}
	}
	for _, t := range GitShown(c) {
		if !place(c, &p, t, c.Dirs) {
			return p
		}
	}
	rest := proof(c, nil, false)
	if p.Touches = append(p.Touches, rest.Touches...); rest.Why != "" {
		return rest
	}
	if !slices.Contains(gitQuiet, name) {
		p.Git, p.Trees = dirs, gitTrees(c, name, a, counted, dirs)
	}
	if apart != "" && !below {
		for _, d := range dirs {
			p.Unless = append(p.Unless, Join2(d, apart)+"/.") // unless it is one
		}
	}
	return p
}

// maxColons bounds the paths that one word may name: behind each colon begins another one, up to the word's end.
const (
	maxColons = 64
	manyPaths = "a git argument names too many paths to check"
)

// gitPaths are the paths that a word may name: itself, and what stands behind each colon of it (HEAD:path, :(icase)path),
// which git counts from the top of the repository. A star in it is git's to expand.
func gitPaths(w bash.Word, t Touch) []Touch {
	one := func(text string, top bool) Touch {
		t := t
		t.Path, t.Top = text, top
		t.Glob = strings.ContainsAny(text, "*?[")
		t.Spec = t.Glob && w.Kind == bash.Literal
		t.Names = t.Names && !t.Spec
		return t
	}
	texts := []string{w.Text}
	if strings.IndexByte(w.Text, '\\') >= 0 && !strings.ContainsAny(w.Text, "*?[") {
		texts = append(texts, bash.Unescaped(w.Text)) // a backslash alone makes it a pattern to git
	}
	var ts []Touch
	if strings.HasPrefix(w.Text, ":!") || strings.HasPrefix(w.Text, ":^") || strings.HasPrefix(w.Text, ":(exclude)") {
		return nil // what it leaves out
	}
	for _, text := range texts {
		ts = append(ts, one(text, false))
	}
	if w.Kind == bash.Glob { // no file here may have such a name, and then git is given the pattern
		spec := ts[0]
		spec.Spec, spec.Names = true, false
		ts = append(ts, spec)
	}
	t.Below, t.Names, t.Tracked = false, false, false
	for _, text := range texts {
		for i := strings.IndexByte(text, ':'); i >= 0; i = strings.IndexByte(text, ':') {
			text = strings.TrimLeft(text[i+1:], "!^")
			if end := strings.IndexByte(text, ')'); strings.HasPrefix(text, "(") && end > 0 {
				text = text[end+1:]
			}
			ts = append(ts, one(strings.TrimLeft(text, "/"), true))
		}
	}
	return ts
}

// into is where -C leads from each of dirs. Nothing is cleaned away: the system goes through links.
func into(dirs []string, to string) []string {
	if strings.HasPrefix(to, "/") {
		return []string{to}
	}
	var out []string
	for _, d := range dirs {
		out = append(out, Join2(d, to))
	}
	return out
}
