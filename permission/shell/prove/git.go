package prove

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

// proveGit judges git: its own flags, then a subcommand with its flags.
func proveGit(c *bash.Command, words []bash.Word, held bool) Proof {
	at, own, words := splitGit(words)
	if _, why := program.ParseArgs(c, "git", own, program.ReadOnly().Plain["git"], held); why != "" {
		return Proof{Why: why}
	}
	if len(words) == 0 || words[0].Kind != bash.Literal {
		return Proof{Why: "the git subcommand can't be determined"}
	}
	name := "git " + words[0].Text
	p := program.ReadOnly().Find(name, held)
	if p == nil {
		return unlisted(name)
	}
	a, why := program.ParseArgs(c, name, words[1:], p, held)
	if why != "" {
		return Proof{Why: why}
	}
	return gitProof(c, words[0].Text, a, into(c.Dirs, at))
}

// splitGit splits the words of git into its own flags, and the subcommand with its words. at is the directory that -C names,
// which is not literal if one of its words isn't.
func splitGit(words []bash.Word) (at bash.Word, own, rest []bash.Word) {
	n := 0
	for ; n < len(words) && strings.HasPrefix(words[n].Text, "-") && words[n].Text != "--version"; n++ {
		if n+1 == len(words) || !slices.Contains(program.RunnerOf("git").Long, words[n].Text) {
			continue
		}
		if n++; words[n-1].Text == "-C" {
			at.Kind = max(at.Kind, words[n].Kind)
			if at.Text = at.Text + words[n].Text + "/"; strings.HasPrefix(words[n].Text, "/") {
				at.Text = words[n].Text + "/"
			}
		}
	}
	return at, words[:n], words[n:]
}

// into is where a path leads from each of dirs; nil: unknown.
func into(dirs []string, at bash.Word) (out []string) {
	if at.Text == "" {
		return dirs
	}
	for i := 0; i < len(dirs) && at.Kind == bash.Literal; i++ {
		out = append(out, Join(dirs[i], at.Text))
	}
	return out
}

// gitProof is the proof of a call of git that runs in one of dirs, whose words are read-only.
func gitProof(c *bash.Command, name string, a *program.Args, dirs []string) Proof {
	switch {
	case dirs == nil && !a.Held:
		return Proof{Why: "the directory that git runs in is unknown"}
	case dirs == nil:
		dirs = []string{c.Start}
	}
	p := proof(c, nil, a.Held)
	p.Git, p.Objects = dirs, a.Program.Objects && a.Held
	// Outside a repository git diff compares two directories.
	below := !a.Held && (name == "grep" || a.Has("--no-index") || name == "diff" && len(a.Operands) == 2)
	t := Touch{Use: use(a.Program.Names && !below)}
	switch {
	case name == "grep" && !a.Has("--untracked", "--no-index"):
		t.Scope = Tracked
	case below:
		t.Scope = Below
	}
	isTop := func(w bash.Word) bool {
		return strings.HasPrefix(w.Text, ":/") || strings.HasPrefix(w.Text, ":(") && strings.Contains(w.Text, "top")
	}
	if below && slices.ContainsFunc(a.Operands, isTop) {
		return Proof{Why: "a pathspec covers the whole repository"}
	}
	tops := slices.Compact(append(slices.Clip(dirs), c.Start))
	for _, w := range append(readFlags(a), files(a)...) {
		switch {
		case w.Kind > bash.Glob, w.Kind == bash.Glob && a.Held:
			continue
		case strings.HasPrefix(w.Text, ":!"), strings.HasPrefix(w.Text, ":^"), strings.HasPrefix(w.Text, ":(exclude)"):
			continue
		case w.Kind == bash.Glob:
			t := t
			t.Path, t.Pattern = w.Text, Glob
			p.add(t, dirs)
		}
		p.addSpec(t, w.Text, dirs)
		// HEAD:path and :(icase)path, which git counts from the top of the repository
		for _, path, ok := strings.Cut(w.Text, ":"); ok; _, path, ok = strings.Cut(path, ":") {
			if magic, rest, has := strings.Cut(path, ")"); has && strings.HasPrefix(magic, "(") {
				path = rest
			}
			p.addSpec(Touch{}, strings.TrimLeft(path, "/"), tops)
			p.Whole = true
		}
	}
	if t.Path = "."; name != "grep" {
		t = Touch{Path: ".", Use: Names}
	}
	p.add(t, dirs)
	p.Whole = p.Whole || name == "status" && a.Has("-v", "--verbose") || name == "cat-file" && !a.Has("-t", "-s", "-e")
	for _, t := range GitShown(c) {
		if p.Whole = p.Whole || t.Scope == WholeIndex; !a.Held {
			p.add(t, c.Dirs)
		}
	}
	return p
}

// addSpec adds t at a pathspec. To git a backslash alone makes it a pattern, in which stars stand for slashes too.
func (p *Proof) addSpec(t Touch, spec string, dirs []string) {
	if t.Path = spec; strings.ContainsAny(spec, "*?[") {
		t.Pattern, t.Use = GitGlob, Reads
	}
	p.add(t, dirs)
	if strings.Contains(spec, `\`) {
		t.Path = bash.Unescaped(spec)
		p.add(t, dirs)
	}
}

// GitShown are the paths of which git prints what is in the files, in whatever commit: those behind --, or all. A
// pathspec with magic may exclude some.
func GitShown(c *bash.Command) (ts []Touch) {
	at, _, words := splitGit(c.Words[1:])
	if len(words) == 0 || !shows(words) {
		return nil
	}
	isObject := func(w bash.Word) bool { return strings.IndexByte(w.Text, ':') > 0 } // HEAD:file, which is judged by its name
	behind := slices.Index(words, bash.Word{Text: "--"})
	switch {
	case behind >= 0 && behind < len(words)-1:
	case words[0].Text == "show" && len(words) > 1 && !slices.ContainsFunc(words[1:], func(w bash.Word) bool { return !isObject(w) }):
		return nil
	default:
		return []Touch{{Path: at.Text + ".", Scope: WholeIndex, Certain: Sure}}
	}
	for _, w := range words[behind+1:] {
		if strings.HasPrefix(w.Text, ":") || strings.ContainsAny(w.Text, `*?[\`) {
			return []Touch{{Path: at.Text + ".", Scope: WholeIndex, Certain: Vague}}
		}
		ts = append(ts, Touch{Path: at.Text + w.Text, Scope: Index, Certain: Sure})
	}
	return ts
}

// shows reports whether a subcommand of git prints what is in files, with these words.
func shows(words []bash.Word) bool {
	r := program.RunnerOf("git " + words[0].Text)
	if words[0].Text == "stash" && len(words) > 1 {
		r = program.RunnerOf("git stash " + words[1].Text)
	}
	patch, quiet := false, false
	for _, w := range words[1:] {
		name, _, _ := strings.Cut(w.Text, "=")
		quiet = quiet || slices.Contains(r.Unless, name)
		patch = patch || slices.ContainsFunc(r.Shows, func(flag string) bool {
			return flag == name || len(flag) == 2 && len(name) > 1 && name[0] == '-' && name[1] != '-' && strings.Contains(name, flag[1:])
		})
	}
	return patch || !quiet && slices.Contains(r.Shows, program.Always)
}
