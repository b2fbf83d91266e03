package shell

import (
	"slices"
	"strings"
)

// gitQuiet are the subcommands that look at no file and no object, so that nothing configured can run.
var gitQuiet = []string{"version"}

// proveGit judges git: its own flags, then a subcommand with its flags.
func (c *Command) proveGit(words []Word, held bool) Proof {
	dirs := c.Dirs
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
		switch w := words[0]; {
		case w.Kind != Literal:
			return Proof{Why: notLiteral(w.Text)}
		case w.Text == "--version" && len(words) == 1:
			return c.proof(nil, held)
		case slices.Contains(gitHarmlessFlags, w.Text):
			words = words[1:]
		case w.Text == "-c" && len(words) > 1 && words[1].Kind == Literal && plainSetting(words[1].Text):
			words = words[2:]
		case w.Text == "-C" && len(words) > 1 && (words[1].Kind == Literal || held):
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
	p := readOnly().find("git "+name, held)
	if p == nil {
		return unlisted("git " + name)
	}
	if dirs == nil && !held {
		return Proof{Why: "the directory that git runs in is unknown"}
	}
	a, why := parseArgs(c, words[1:], p, held)
	if why == "" {
		why = checkGitFlags(name, a)
	}
	if why == "" {
		why = a.check("git " + name)
	}
	if why != "" {
		return Proof{Why: why}
	}
	if held {
		return c.heldGit(name, a, dirs)
	}
	return c.gitTouches(name, a, dirs)
}

// gitHarmlessFlags are flags of git itself.
var gitHarmlessFlags = []string{"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"}

// heldGit is the proof of git where a sandbox enforces reads.
func (c *Command) heldGit(name string, a *args, dirs []string) Proof {
	at := *c
	at.Dirs = dirs
	p := at.proof(a.gitHeldTouches(), true)
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
func (a *args) gitHeldTouches() []Touch {
	ts := []Touch{{Path: ".", Names: true}}
	list := a.operands
	switch {
	case a.program.operands == texts:
		list = nil
	case a.program.operands == pattern && len(list) > 0 && a.ended != 0 && !a.has("-e", "-f"):
		list = list[1:]
	}
	for _, f := range a.flags {
		if f.value.Kind == Literal && a.program.flags[f.name] == reading {
			ts = append(ts, Touch{Path: f.value.Text})
		}
		if f.name == "-L" { // -L1,5:path
			ts = append(ts, Touch{Path: f.value.Text[strings.LastIndexByte(f.value.Text, ':')+1:]})
		}
	}
	for _, w := range list {
		if w.Kind == Literal && strings.Count(w.Text, ":") <= maxColons {
			ts = append(ts, gitPaths(w, Touch{Names: a.program.operands == names})...)
		}
	}
	return ts
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
func checkGitFlags(name string, a *args) string {
	for _, f := range a.flags {
		switch f.name {
		case "--format", "--pretty":
			if strings.Contains(f.value.Text, "%G") || strings.Contains(f.value.Text, "signature") || !prettyFormat(name, f.value.Text) {
				return "the format " + f.value.Text + " may run a program"
			}
		case "--sort":
			if strings.Contains(f.value.Text, "signature") {
				return "sorting by " + f.value.Text + " may run a program"
			}
		case "--diff-merges": // remerge does the merge once more, in files of its own
			if !slices.Contains(strings.Fields("off none first-parent 1 separate m combined c dense-combined cc"), f.value.Text) {
				return "showing merges as " + f.value.Text + " may run a merge driver"
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
func (c *Command) gitTouches(name string, a *args, dirs []string) Proof {
	kind := a.program.operands
	two := name == "diff" && len(a.operands) == 2 // outside a repository these are two folders, with -- or without
	apart := ""                                   // what is no folder: HEAD -- src, . ':!docs'
	switch {
	case two && a.ended == 1 || two && strings.HasPrefix(a.operands[0].Text, ":"):
		apart = a.operands[0].Text
	case two && strings.HasPrefix(a.operands[1].Text, ":"):
		apart = a.operands[1].Text
	}
	below := name == "grep" || a.has("--no-index") || two && apart == ""
	tracked := name == "grep" && !a.has("--untracked", "--no-index")
	var ts []Touch
	for _, f := range a.flags {
		if a.program.flags[f.name] == reading {
			ts = append(ts, Touch{Path: f.value.Text})
		}
		if f.name == "-L" && strings.Contains(f.value.Text, ":") && name != "blame" && name != "annotate" { // -L1,5:path
			ts = append(ts, Touch{Path: f.value.Text[strings.LastIndexByte(f.value.Text, ':')+1:]})
		}
	}
	list := a.operands
	if kind == pattern && len(list) > 0 && list[0].Kind == Literal && a.ended != 0 && !a.has("-e", "-f") {
		list = list[1:]
	}
	if kind == texts {
		list = nil
	}
	for _, w := range list {
		if below && (strings.HasPrefix(w.Text, ":/") || strings.HasPrefix(w.Text, ":(") && strings.Contains(w.Text, "top")) {
			return Proof{Why: "pathspec " + w.Text + " covers the whole repository"}
		}
		if strings.Count(w.Text, ":") > maxColons {
			return Proof{Why: "a git argument names too many paths to check"}
		}
		ts = append(ts, gitPaths(w, Touch{Below: below, Names: kind == names && !below, Tracked: tracked})...)
	}
	if name == "grep" {
		ts = append(ts, Touch{Path: ".", Below: true, Tracked: tracked})
	} else {
		ts = append(ts, Touch{Path: ".", Names: true})
	}
	p := Proof{}
	var counted []Touch // from the top of the repository
	for _, t := range ts {
		if !c.place(&p, t, dirs) {
			return p
		}
		if t.Top {
			counted = append(counted, t)
		}
		if t.Top && !slices.Equal(dirs, []string{c.start}) && c.start != "" {
			c.place(&p, t, []string{c.start})
		}
	}
	for _, t := range c.gitShown() {
		if !c.place(&p, t, c.Dirs) {
			return p
		}
	}
	rest := c.proof(nil, false)
	if p.Touches = append(p.Touches, rest.Touches...); rest.Why != "" {
		return rest
	}
	if !slices.Contains(gitQuiet, name) {
		p.Git, p.Trees = dirs, c.gitTrees(name, a, counted, dirs)
	}
	if apart != "" && !below {
		for _, d := range dirs {
			p.Unless = append(p.Unless, join2(d, apart)+"/.") // unless it is one
		}
	}
	return p
}

// maxColons bounds the paths that one word may name: behind each colon begins another one, up to the word's end.
const maxColons = 64

// gitPaths are the paths that a word may name: itself, and what stands behind each colon of it (HEAD:path, :(icase)path),
// which git counts from the top of the repository. A star in it is git's to expand.
func gitPaths(w Word, t Touch) []Touch {
	one := func(text string, top bool) Touch {
		t := t
		t.Path, t.Top = text, top
		t.Glob = strings.ContainsAny(text, "*?[")
		t.Spec = t.Glob && w.Kind == Literal
		t.Names = t.Names && !t.Spec
		return t
	}
	texts := []string{w.Text}
	if strings.IndexByte(w.Text, '\\') >= 0 && !strings.ContainsAny(w.Text, "*?[") {
		texts = append(texts, unescaped(w.Text)) // a backslash alone makes it a pattern to git
	}
	var ts []Touch
	if strings.HasPrefix(w.Text, ":!") || strings.HasPrefix(w.Text, ":^") || strings.HasPrefix(w.Text, ":(exclude)") {
		return nil // what it leaves out
	}
	for _, text := range texts {
		ts = append(ts, one(text, false))
	}
	if w.Kind == Glob { // no file here may have such a name, and then git is given the pattern
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
		out = append(out, join2(d, to))
	}
	return out
}
