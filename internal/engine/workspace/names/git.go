package names

import (
	"slices"
	"strings"
)

// GitSigns are the entries by which git takes a directory for a repository, whatever its name is. A zero value means
// none.
type GitSigns uint8

const (
	gitHead GitSigns = 1 << iota
	gitObjects
	gitRefs
	gitCommon
)

// GitEntries are the names that have a sign.
func GitEntries() []string { return []string{"HEAD", "objects", "refs", "commondir"} }

// GitSign returns the sign of an entry's name.
func GitSign(name string) GitSigns {
	switch fold(name) {
	case "head":
		return gitHead
	case "objects":
		return gitObjects
	case "refs":
		return gitRefs
	case "commondir":
		return gitCommon
	}
	return 0
}

// Repository reports whether git takes a directory with these entries for a repository: then it obeys the settings
// and hooks there, or in the directory that commondir names.
func (s GitSigns) Repository() bool {
	return s&gitHead != 0 && (s&gitCommon != 0 || s&gitObjects != 0 && s&gitRefs != 0)
}

// GitSignsOf returns the signs of a directory of which exists reports the entries.
func GitSignsOf(exists func(name string) bool) (s GitSigns) {
	for _, name := range GitEntries() {
		if exists(name) {
			s |= GitSign(name)
		} else if s&gitHead == 0 { // the first name
			return 0
		}
	}
	return s
}

// IsGit reports whether a name is .git: a repository, or a file or link that leads to one.
func IsGit(name string) bool { return fold(name) == ".git" }

// GitObeys reports whether a path in a git directory makes git run programs or read elsewhere, including those of
// submodules and linked worktrees.
func GitObeys(rel string) bool {
	parts := parts(rel)
	if len(parts) == 0 {
		return false
	}
	switch parts[len(parts)-1] {
	case "config", "config.worktree", "commondir", "gitdir", "hooks":
		return true
	}
	rel = strings.Join(parts, "/")
	for _, end := range []string{"info/attributes", "objects/info/alternates"} {
		if rel == end || strings.HasSuffix(rel, "/"+end) {
			return true
		}
	}
	i := slices.Index(parts, "hooks")
	return i == 0 || i > 0 && parts[0] == "modules"
}
