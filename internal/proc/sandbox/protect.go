package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// obeyed is protected at the top of a workspace although it does not exist:
// what Adze itself and git would obey. Others are protected where they exist,
// so that no box makes a dozen placeholders appear in an editor's file tree.
var obeyed = []string{".git", ".adze", ".qwen", ".mcp.json"}

// deep is how many levels of folders are searched for protected names, and
// mostSeen bounds how many entries are looked at.
const (
	deep     = 3
	mostSeen = 4000
)

// For is the Spec of a workspace mode as it is meant for everyday work:
// temp folders and caches writable, protected names protected, git able to
// commit. names says which paths are protected by their name; further are
// folders that are writable too. For ReadOnly it is that box.
func For(mode Mode, roots, further, env []string, names func(path string) bool) *Spec {
	s := &Spec{Mode: mode}
	if mode == ReadOnly || !s.Boxed() {
		return s
	}
	s.Roots = roots
	s.Write = append(Caches(env), further...)
	for _, r := range roots {
		if dir := linkedGit(r); dir != "" {
			s.Write = append(s.Write, dir)
			s.Protect = append(s.Protect, gitObeys(dir)...)
		}
	}
	s.Protect = append(s.Protect, Protected(roots, names)...)
	return s
}

// Protected finds what must not be written below the roots: in the roots
// themselves, in their folders and in those of these. Of a .git folder it is
// the parts that make git run something, so that commits go on working.
func Protected(roots []string, names func(path string) bool) []string {
	seek := &seeker{names: names, left: mostSeen}
	for _, root := range roots {
		for _, name := range obeyed {
			if path := filepath.Join(root, name); !isGit(path) {
				seek.found = append(seek.found, path) // a placeholder too, of another box
			}
		}
		seek.look(root, deep)
	}
	slices.Sort(seek.found)
	return slices.Compact(seek.found)
}

type seeker struct {
	names func(string) bool
	left  int
	found []string
}

func (s *seeker) look(dir string, levels int) {
	if levels == 0 || s.left <= 0 {
		return
	}
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(s.left)
	f.Close()
	s.left -= len(entries)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case isGit(path):
			s.found = append(s.found, gitObeys(path)...)
		case levels == deep && slices.Contains(obeyed, e.Name()): // is in the list
		case s.names != nil && s.names(path):
			s.found = append(s.found, path)
		case e.IsDir() && e.Name() != "node_modules":
			s.look(path, levels-1)
		}
	}
}

// isGit reports whether a path is the folder of a repository.
func isGit(path string) bool {
	if filepath.Base(path) != ".git" {
		return false
	}
	st, err := os.Lstat(filepath.Join(path, "HEAD"))
	return err == nil && !st.IsDir()
}

// gitObeys is what in a git folder makes git run something: its settings and
// hooks, and those of submodules.
func gitObeys(dir string) []string {
	found := []string{filepath.Join(dir, "hooks"), filepath.Join(dir, "config")}
	for _, pattern := range []string{"config.worktree", "commondir", "modules/*/config", "modules/*/hooks", "modules/*/*/config", "modules/*/*/hooks"} {
		more, _ := filepath.Glob(filepath.Join(dir, pattern))
		found = append(found, more...)
	}
	return found
}

// linkedGit is the git folder of a linked worktree, which lies elsewhere and
// must be writable for commits. The file that leads there may say anything, so
// the folder must say in turn that this is its worktree.
func linkedGit(root string) string {
	text, err := os.ReadFile(filepath.Join(root, ".git"))
	if err != nil {
		return ""
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	back, err := os.ReadFile(filepath.Join(dir, "gitdir"))
	if err != nil {
		return ""
	}
	ours, err := filepath.EvalSymlinks(filepath.Join(root, ".git"))
	theirs, err2 := filepath.EvalSymlinks(strings.TrimSpace(string(back)))
	common, err3 := os.ReadFile(filepath.Join(dir, "commondir"))
	if err != nil || err2 != nil || err3 != nil || ours != theirs {
		return ""
	}
	shared := strings.TrimSpace(string(common))
	if !filepath.IsAbs(shared) {
		shared = filepath.Join(dir, shared)
	}
	return shared
}
