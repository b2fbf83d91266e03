package shell

import "strings"

// gitTrees are what git shows from anywhere in its repository: paths that it counts from the top, and all of it where a
// command prints what is in files and nothing behind a -- limits it.
func (c *Command) gitTrees(name string, a *args, counted []Touch, dirs []string) (trees []Tree) {
	whole := Touch{Path: ".", Below: true, Sure: true, Tracked: true}
	shows := name == "status" && a.has("-v", "--verbose") || name == "cat-file" && !a.has("-t", "-s", "-e") && !namesPaths(a.operands)
	for _, t := range c.gitShown() {
		shows = shows || t.Top
	}
	for _, d := range dirs {
		for _, t := range counted {
			if t.Sure = true; strings.HasPrefix(t.Path, "./") || strings.HasPrefix(t.Path, "../") {
				continue // HEAD:./file is counted from here
			}
			trees = append(trees, Tree{Dir: d, Touch: t})
		}
		if shows {
			trees = append(trees, Tree{Dir: d, Touch: whole, Unless: lastPath(a, d)})
		}
	}
	return trees
}

// namesPaths reports whether every word names an object by its path: HEAD:file.
func namesPaths(words []Word) bool {
	for _, w := range words {
		if strings.IndexByte(w.Text, ':') <= 0 {
			return false
		}
	}
	return true
}

// lastPath is the last operand as a path in dir, if it may be one. If it is, git shows nothing else: paths stand behind
// commits, and git rejects a word that may be both.
func lastPath(a *args, dir string) string {
	if len(a.operands) == 0 || a.ended >= 0 {
		return ""
	}
	last := a.operands[len(a.operands)-1]
	if last.Kind != Literal || last.Text == "" || strings.ContainsAny(last.Text, `:*?[\`) {
		return ""
	}
	if strings.HasPrefix(last.Text, "/") {
		return last.Text
	}
	return join2(dir, last.Text)
}
