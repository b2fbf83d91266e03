package prove

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

// Subcommands of git that print what is in files, those that do so with a flag, and flags with which they don't.
var (
	gitPrints      = strings.Fields("show diff diff-tree diff-index diff-files format-patch fast-export range-diff")
	gitMayPrint    = strings.Fields("log whatchanged reflog stash rev-list")
	gitPatchFlags  = strings.Fields("-p -u -c -W --patch --cc --dd --binary --function-context --patch-with-stat --patch-with-raw --check --remerge-diff")
	gitWithoutText = strings.Fields("-s --no-patch --stat --name-only --name-status --numstat --shortstat --summary --raw --quiet --dirstat --compact-summary")
)

// GitShown are the paths of which git prints what is in the files, in whatever commit: those behind --, or all. A
// pathspec with magic may leave some out.
func GitShown(c *bash.Command) (ts []Touch) {
	words, from := c.Words[1:], ""
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
		if words[0].Text == "-C" && len(words) > 1 {
			if from += words[1].Text + "/"; strings.HasPrefix(words[1].Text, "/") {
				from = words[1].Text + "/"
			}
		}
		if slices.Contains(program.GitValued, words[0].Text) && len(words) > 1 {
			words = words[1:]
		}
		words = words[1:]
	}
	if len(words) == 0 || words[0].Text == "stash" && (len(words) < 2 || words[1].Text != "show") {
		return nil
	}
	flag := func(names []string) bool {
		return slices.ContainsFunc(words[1:], func(w bash.Word) bool {
			name, _, _ := strings.Cut(w.Text, "=")
			return slices.Contains(names, name)
		})
	}
	patch := flag(gitPatchFlags) || slices.ContainsFunc(words[1:], func(w bash.Word) bool {
		return strings.HasPrefix(w.Text, "-U") || strings.HasPrefix(w.Text, "--unified") || program.Cluster(w.Text) && strings.ContainsAny(w.Text, "pu")
	})
	if !(slices.Contains(gitMayPrint, words[0].Text) && patch || slices.Contains(gitPrints, words[0].Text) && (patch || !flag(gitWithoutText))) {
		return nil
	}
	behind := slices.IndexFunc(words, func(w bash.Word) bool { return w.Text == "--" })
	if behind < 0 || behind == len(words)-1 {
		if words[0].Text == "show" && !slices.ContainsFunc(words[1:], func(w bash.Word) bool { return strings.IndexByte(w.Text, ':') <= 0 }) && len(words) > 1 {
			return nil // HEAD:file, which is judged by its name
		}
		return []Touch{{Path: from + ".", Index: true, Sure: true, Top: true}}
	}
	if slices.ContainsFunc(words[behind:], func(w bash.Word) bool { return strings.HasPrefix(w.Text, ":") || strings.ContainsAny(w.Text, `*?[\`) }) {
		return []Touch{{Path: from + ".", Index: true, Sure: true, Top: true, Vague: true}}
	}
	for _, w := range words[behind+1:] {
		ts = append(ts, Touch{Path: from + w.Text, Index: true, Sure: true})
	}
	return ts
}

// gitTrees are what git shows from anywhere in its repository: paths that it counts from the top, and all of it where a
// command prints what is in files and nothing behind a -- limits it.
func gitTrees(c *bash.Command, name string, a *program.Args, counted []Touch, dirs []string) (trees []Tree) {
	whole := Touch{Path: ".", Below: true, Sure: true, Tracked: true}
	shows := name == "status" && a.Has("-v", "--verbose") || name == "cat-file" && !a.Has("-t", "-s", "-e") && !namesPaths(a.Operands)
	for _, t := range GitShown(c) {
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
func namesPaths(words []bash.Word) bool {
	for _, w := range words {
		if strings.IndexByte(w.Text, ':') <= 0 {
			return false
		}
	}
	return true
}

// lastPath is the last operand as a path in dir, if it may be one. If it is, git shows nothing else: paths stand behind
// commits, and git rejects a word that may be both.
func lastPath(a *program.Args, dir string) string {
	if len(a.Operands) == 0 || a.Ended >= 0 {
		return ""
	}
	last := a.Operands[len(a.Operands)-1]
	if last.Kind != bash.Literal || last.Text == "" || strings.ContainsAny(last.Text, `:*?[\`) {
		return ""
	}
	if strings.HasPrefix(last.Text, "/") {
		return last.Text
	}
	return Join2(dir, last.Text)
}
