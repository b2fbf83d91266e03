package trial

import (
	"path/filepath"
	"slices"
	"strings"
)

// Protects returns an Options.Protected: it reports whether a path is in one of the listed ones (see sandbox.Spec.Protect),
// or has a protected name. In a git directory only files that make git run programs or read elsewhere are protected, so that
// a commit is an ordinary change.
func Protects(listed []string, names func(path string) bool) func(path string) bool {
	return func(path string) bool {
		if slices.ContainsFunc(listed, func(l string) bool { return within(path, l) }) {
			return true
		}
		i := strings.LastIndex(path, "/.git/")
		if i < 0 {
			return names != nil && names(path)
		}
		return gitObeys(path[i+len("/.git/"):])
	}
}

// gitObeys reports whether a path in a git directory makes git run programs or read elsewhere, including those of submodules
// and linked worktrees.
func gitObeys(rel string) bool {
	parts := strings.Split(filepath.ToSlash(rel), "/")
	switch parts[len(parts)-1] {
	case "config", "config.worktree", "commondir", "gitdir", "hooks":
		return true
	}
	for _, end := range []string{"info/attributes", "objects/info/alternates"} {
		if rel == end || strings.HasSuffix(rel, "/"+end) {
			return true
		}
	}
	i := slices.Index(parts, "hooks")
	return i == 0 || i > 0 && parts[0] == "modules"
}

// within reports whether a path is a directory or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
