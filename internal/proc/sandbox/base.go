package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Base is what the workspace sandboxes of a session have in common: what is
// writable, and where the git directories are. It is decided once, before the
// first command runs, and pinned by device and inode, so that nothing a command
// writes changes what a later one may write.
type Base struct {
	roots, write []string
	pins         map[string]ID
	inner        []string // in write too, because a directory above them is
	git          []string // git directories outside the roots
	home         string   // the user's; empty: not known
	names        func(path string) bool
	tree         *tree
	// Notes says which writable paths were refused, in sentences.
	Notes []string
}

// Roots are the workspace, links resolved.
func (b *Base) Roots() []string { return slices.Clone(b.roots) }

// Git are the git directories outside of the workspace that its commits write.
func (b *Base) Git() []string { return slices.Clone(b.git) }

// Lasting are the other writable directories: temp directories, caches and what
// settings add. Some can be in others.
func (b *Base) Lasting() []string {
	return slices.DeleteFunc(slices.Concat(b.write, b.inner), func(path string) bool { return slices.Contains(b.git, path) })
}

// ID tells files apart. Its zero value is no file.
type ID struct{ Dev, Ino uint64 }

// NewBase decides what the sandboxes of a session may write: the roots, temp
// directories, caches, and further paths. names reports which paths are
// protected by their name.
func NewBase(roots, further, env []string, names func(path string) bool) *Base {
	b := &Base{pins: map[string]ID{}, names: names}
	for _, r := range roots {
		if real, err := filepath.EvalSymlinks(r); err == nil {
			b.roots = append(b.roots, real)
		}
	}
	b.roots = outermost(b.roots)
	for _, kv := range env {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok && filepath.IsAbs(home) {
			b.home = filepath.Clean(home)
		}
	}
	if real, err := filepath.EvalSymlinks(b.home); err == nil {
		b.home = real
	}
	if b.home != "" && holding(b.home, b.roots) != "" {
		b.Notes = append(b.Notes, "The workspace contains your home directory, so commands can change your files except startup files, keys and settings. Start Adze in a project directory to protect them.")
		for _, name := range []string{".config", ".local"} { // what is protected in them can only be if they exist
			os.Mkdir(filepath.Join(b.home, name), 0o700)
		}
	}
	makeCaches(env)
	lexical := slices.Concat(b.roots, allClean(roots))
	wanted := append(allCaches(env), allClean(further)...)
	slices.SortStableFunc(wanted, func(x, y string) int { return cmp.Compare(len(x), len(y)) }) // parents first
	for _, path := range wanted {
		b.accept(path, lexical)
	}
	for _, r := range b.roots {
		for _, dir := range outsideGit(r) {
			b.git = append(b.git, dir)
			b.write = append(b.write, dir)
		}
	}
	b.write = outermost(b.write)
	for _, path := range slices.Concat(b.roots, b.write) {
		if id, ok := identify(path); ok {
			b.pins[path] = id
		}
	}
	b.tree = newTree(b.roots, b.protects)
	return b
}

// accept makes a path writable, unless it is already or commands could have
// chosen where it leads: a path in the workspace, or through a link in a
// writable directory.
func (b *Base) accept(path string, roots []string) {
	if !filepath.IsAbs(path) || holding(path, roots) != "" {
		return
	}
	if link := linkBelow(path, slices.Concat(roots, b.write)); link != "" {
		b.Notes = append(b.Notes, fmt.Sprintf("%s stays read-only: %s is a link that commands can change.", path, link))
		return
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || holding(real, roots) != "" {
		return
	}
	if holding(real, b.write) != "" {
		b.inner = append(b.inner, real)
		return
	}
	b.write = append(b.write, real)
}

// linkBelow is the first link on the way to a path that lies below one of dirs.
func linkBelow(path string, dirs []string) string {
	at := "/"
	for _, part := range strings.Split(strings.Trim(path, "/"), "/") {
		at = filepath.Join(at, part)
		st, err := os.Lstat(at)
		if err != nil {
			return ""
		}
		if st.Mode()&os.ModeSymlink != 0 && holding(filepath.Dir(at), dirs) != "" {
			return at
		}
	}
	return ""
}

func allClean(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = filepath.Clean(p)
	}
	return out
}

// Spec is the sandbox of a mode. For ReadOnly it is that sandbox without limits.
func (b *Base) Spec(mode Mode) *Spec {
	s := &Spec{Mode: mode}
	if mode == ReadOnly || !s.Boxed() {
		return s
	}
	s.Roots, s.Write, s.Pins = b.roots, b.write, b.pins
	for _, dir := range b.git {
		s.Protect = append(s.Protect, gitObeys(dir, "")...)
	}
	s.Protect = append(s.Protect, b.protected()...)
	slices.Sort(s.Protect)
	s.Protect = slices.Compact(s.Protect)
	return s
}

// For is the Spec of a single command; see Base.
func For(mode Mode, roots, further, env []string, names func(path string) bool) *Spec {
	return NewBase(roots, further, env, names).Spec(mode)
}

// outsideGit are the git directories of a root that must be writable for commits
// and lie outside it: that of a linked worktree, or of a submodule. The file that
// leads there may say anything, so the directory has to be one that git would
// have made for this worktree.
func outsideGit(root string) []string {
	text, err := os.ReadFile(filepath.Join(root, ".git"))
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil || below(dir, root) {
		return nil
	}
	if super, _, ok := strings.Cut(dir, "/.git/modules/"); ok && below(root, super) && isRepository(dir) {
		return []string{dir}
	}
	common := filepath.Dir(filepath.Dir(dir))
	back, err := os.ReadFile(filepath.Join(dir, "gitdir"))
	ours, err2 := filepath.EvalSymlinks(filepath.Join(root, ".git"))
	theirs, err3 := filepath.EvalSymlinks(strings.TrimSpace(string(back)))
	if err != nil || err2 != nil || err3 != nil || ours != theirs || filepath.Base(filepath.Dir(dir)) != "worktrees" || !isRepository(common) {
		return nil
	}
	return []string{common}
}

// isRepository reports whether a directory is a whole repository of git's.
func isRepository(dir string) bool {
	for _, name := range []string{"HEAD", "config", "objects"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// isGitDir reports whether a directory looks like git's, whatever its name. One
// sign is enough: a command can remove the others, but not what is protected.
func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "config", "hooks", "objects"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
