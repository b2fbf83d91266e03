// Package places finds out which paths the sandboxes of a session are about: what commands may write, which git
// directories and settings are protected, which files deny rules are about, and what auto-approved commands may read.
// The result is a [sandbox.Spec], or parts of one.
package places

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/gitconfig"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/sorted"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/realpath"
)

// Base is the common part of a session's workspace sandboxes: the writable paths, and the git directories. It is
// determined once, before the first command runs, and pinned by device and inode, so that nothing a command writes
// changes what a later one may write.
type Base struct {
	roots, write []string
	pins         map[string]sandbox.ID
	inner        []string // in write too, because a directory above them is
	cached       []string // build caches in write
	tools        []string // build caches with programs
	missing      []string // build caches that don't exist, of programs in PATH
	tops         []string // directories of caches, such as ~/.cache; some may not exist
	git          []string // git directories outside the roots
	home         string   // the user's; empty: unknown
	names        func(path string) bool
	tree         *tree
	repositories repositories

	once sync.Once
	made []string // of missing, for workspace sandboxes

	// Notes describes which writable paths were rejected, in sentences.
	Notes []string
}

// Roots returns the workspace, links resolved.
func (b *Base) Roots() []string { return slices.Clone(b.roots) }

// Git returns the git directories outside the workspace that its commits write.
func (b *Base) Git() []string { return slices.Clone(b.git) }

// Home returns the user's home directory, links resolved; empty: unknown.
func (b *Base) Home() string { return b.home }

// Lasting returns the other directories that a trial may change: temp directories, caches and those of settings. Some
// may be in others, and some may not exist.
func (b *Base) Lasting() []string {
	return slices.DeleteFunc(slices.Concat(b.write, b.inner, b.tools, b.missing),
		func(path string) bool { return slices.Contains(b.git, path) })
}

// Caches returns the build caches that exist.
func (b *Base) Caches() []string { return slices.Concat(b.cached, b.tools) }

// CacheDirs returns the directories of caches, such as ~/.cache. They may not exist. Only the build caches in them are
// for commands.
func (b *Base) CacheDirs() []string { return slices.Clone(b.tops) }

// NewBase determines what the sandboxes of a session may write: the roots, temp directories, caches, and further paths.
// protected reports which paths are protected by their name.
func NewBase(roots, further, env []string, protected func(path string) bool) *Base {
	b := &Base{pins: map[string]sandbox.ID{}, names: protected}
	for _, r := range roots {
		if real, err := filepath.EvalSymlinks(r); err == nil {
			b.roots = append(b.roots, real)
		}
	}
	b.roots = sandbox.Outermost(b.roots)
	for _, kv := range env {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok && filepath.IsAbs(home) {
			b.home = filepath.Clean(home)
		}
	}
	if real, err := filepath.EvalSymlinks(b.home); err == nil {
		b.home = real
	}
	if b.home != "" && isIn(b.home, b.roots) {
		b.Notes = append(b.Notes, "The workspace contains your home directory, so commands can change your files "+
			"except startup files, keys and settings. Start Adze in a project directory to protect them.")
	}
	lexical := slices.Concat(b.roots, allClean(roots))
	places := newCachePlaces(env, lexical)
	caches := places.all()
	b.tops = places.tops
	wanted := append(existing(append(TempDirs(env), sandbox.SharedDir)), allClean(further)...)
	for _, c := range caches {
		if !c.programs {
			wanted = append(wanted, c.path)
		}
	}
	sorted.By(wanted, func(x, y string) int { return cmp.Compare(len(x), len(y)) }) // parents first
	for _, path := range wanted {
		b.accept(path, lexical)
	}
	b.addCaches(caches, lexical)
	for _, r := range b.roots {
		for _, dir := range outsideGit(r) {
			b.git = append(b.git, dir)
			b.write = append(b.write, dir)
		}
	}
	b.write = sandbox.Outermost(b.write)
	for _, path := range slices.Concat(b.roots, b.write) {
		if id, ok := sandbox.Identify(path); ok {
			b.pins[path] = id
		}
	}
	b.tree = newTree(b.roots, b.protects)
	return b
}

// addCaches records the build caches: those that exist, those with programs, and missing ones of programs in PATH. A
// path through a link that commands can change isn't followed.
func (b *Base) addCaches(all []buildCache, roots []string) {
	for _, c := range all {
		linked := c.real != filepath.Clean(c.path) && decidedIn(c.path, "", slices.Concat(roots, b.write)) != ""
		if linked || isIn(c.real, roots) {
			continue
		}
		_, err := os.Stat(c.real)
		switch {
		case err == nil && c.programs:
			b.tools = append(b.tools, c.real)
		case err == nil && isIn(c.real, b.write):
			b.cached = append(b.cached, c.real)
		case err != nil && c.used && !c.programs && b.home != "" && names.Below(c.real, b.home):
			b.missing = append(b.missing, c.real)
		}
	}
}

// makeMissing creates, in a workspace sandbox, what programs need and can't create in it: caches in a new home
// directory. Without them they fail. Paths in ~/.config and ~/.local of a workspace that contains the home directory
// can only be protected if these exist. Errors are ignored.
func (b *Base) makeMissing() {
	if b.home != "" && isIn(b.home, b.roots) {
		for _, name := range []string{".config", ".local"} {
			os.Mkdir(filepath.Join(b.home, name), 0o700)
		}
	}
	for _, path := range b.missing {
		if os.MkdirAll(path, 0o700) != nil || settled(path) != path || isIn(path, b.write) {
			continue
		}
		b.made = append(b.made, path)
	}
	b.made = sandbox.Outermost(b.made)
	for _, path := range b.made {
		if id, ok := sandbox.Identify(path); ok {
			b.pins[path] = id
		}
	}
}

// accept makes a path writable, unless it already is or commands could have chosen its target: a path in the workspace,
// or through a link in a writable directory.
func (b *Base) accept(path string, roots []string) {
	if !filepath.IsAbs(path) || isIn(path, roots) {
		return
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || isIn(real, roots) {
		return
	}
	if by := decidedIn(path, real, slices.Concat(roots, b.write)); by != "" {
		b.Notes = append(b.Notes, fmt.Sprintf("%s stays read-only: it leads to %s by way of %s, where commands can "+
			"change links.", path, real, by))
		return
	}
	if isIn(real, b.write) {
		b.inner = append(b.inner, real)
		return
	}
	b.write = append(b.write, real)
}

// decidedIn returns the writable directory in which links decide that path leads out of it, to real; "": none. If real
// is empty, it returns any that path leads through.
func decidedIn(path, real string, writable []string) string {
	passed, err := realpath.Passed(path)
	if err != nil {
		return path
	}
	for _, dir := range passed {
		if i := slices.IndexFunc(writable, func(w string) bool { return names.Below(dir, w) }); i >= 0 &&
			!names.Below(real, writable[i]) {
			return writable[i]
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

// Spec returns the sandbox of a mode. For ReadOnly it has no limits on reads.
func (b *Base) Spec(mode sandbox.Mode) *sandbox.Spec {
	s := &sandbox.Spec{Mode: mode}
	if mode == sandbox.ReadOnly || !s.Boxed() {
		return s
	}
	b.once.Do(b.makeMissing)
	s.Roots, s.Write, s.Pins = b.roots, slices.Concat(b.write, b.made), b.pins
	s.Protect = slices.DeleteFunc(b.Protect(), b.blocks)
	return s
}

// blocks reports whether a path is a startup file in a directory that doesn't exist: a placeholder would be in the way
// of that directory, such as ~/.cargo.
func (b *Base) blocks(path string) bool {
	name, err := filepath.Rel(b.home, path)
	return b.home != "" && err == nil && slices.Contains(startup, name) && !isDir(filepath.Dir(path))
}

// Protect returns what must not be written. It creates nothing.
func (b *Base) Protect() []string {
	out := b.protected()
	for _, dir := range b.git {
		out = append(out, gitObeys(dir, "")...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// For returns the Spec for a single command; see Base.
func For(mode sandbox.Mode, roots, further, env []string, protected func(path string) bool) *sandbox.Spec {
	return NewBase(roots, further, env, protected).Spec(mode)
}

// outsideGit returns the git directories of a root that must be writable for commits and are outside it: that of a
// linked worktree, or of a submodule. The file that names it may have any content, so the directory must be one that
// git would have created for this worktree.
func outsideGit(root string) []string {
	dir := gitFile(filepath.Join(root, ".git"))
	if dir == "" || names.Below(dir, root) {
		return nil
	}
	if super, _, ok := strings.Cut(dir, "/.git/modules/"); ok && names.Below(root, super) && isRepository(dir) {
		return []string{dir}
	}
	common := filepath.Dir(filepath.Dir(dir))
	back, ok := gitconfig.Pointer(filepath.Join(dir, "gitdir"), "")
	ours, err := filepath.EvalSymlinks(filepath.Join(root, ".git"))
	theirs, err2 := filepath.EvalSymlinks(back)
	if !ok || err != nil || err2 != nil || ours != theirs || filepath.Base(filepath.Dir(dir)) != "worktrees" ||
		!isRepository(common) {
		return nil
	}
	return []string{common}
}

// isRepository reports whether a directory is a complete git repository.
func isRepository(dir string) bool {
	for _, name := range []string{"HEAD", "config", "objects"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// isGitDir reports whether a directory looks like a git directory, whatever its name. One sign is enough: a command can
// remove the others, but not the protected ones.
func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "config", "hooks", "objects"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// obeyed are protected at the top of a workspace even if they don't exist: files that Adze itself, other agents and git
// obey. Others are protected where they exist.
var obeyed = []string{".git", ".adze", ".qwen", ".agents", ".mcp.json"}

// startup are protected in a home directory that is in a workspace even if they don't exist: files that shells,
// sessions and git read or run for the user.
var startup = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
	".zprofile", ".zlogin", ".zlogout",
	".ssh", ".gitconfig", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment", ".inputrc", ".vimrc",
	".exrc", ".npmrc", ".claude", ".codex",
	".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d", "bin", ".local/bin",
	".cargo/bin", "go/bin",
}

// protected returns what must not be written below the roots: files that programs obey, at any depth. In a git
// directory these are the parts that make git run programs or read elsewhere, so that commits work.
func (b *Base) protected() []string {
	var out []string
	for _, root := range b.roots {
		for _, name := range obeyed {
			if path := filepath.Join(root, name); name != ".git" || !isGitDir(path) {
				out = append(out, path)
			}
		}
		if path := filepath.Join(root, ".git"); isGitDir(path) {
			out = append(out, gitObeys(path, root)...)
		}
	}
	if b.home != "" && isIn(b.home, b.roots) {
		for _, name := range startup {
			out = append(out, filepath.Join(b.home, name))
		}
	}
	found := b.tree.walk()
	b.repositories.saw(found)
	for _, dir := range found.repositories {
		out = append(out, obeyedIn(dir)...)
	}
	for _, path := range found.names {
		switch {
		case !names.IsGit(filepath.Base(path)):
			out = append(out, path)
		case isGitDir(path):
			out = append(out, gitObeys(path, filepath.Dir(path))...)
		default:
			out = append(out, path)
			if dir := gitFile(path); dir != "" && isIn(dir, slices.Concat(b.roots, b.write)) {
				out = append(out, gitObeys(dir, filepath.Dir(path))...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// protects reports whether an existing path is protected by its name.
func (b *Base) protects(path string) bool {
	return b.names != nil && b.names(path)
}

// Protected returns what must not be written below the roots.
func Protected(roots []string, protected func(path string) bool) []string {
	return (&Base{roots: roots, names: protected, tree: newTree(roots, (&Base{names: protected}).protects)}).protected()
}

// gitFile returns the git directory that a .git file leads to.
func gitFile(path string) string {
	dir, ok := gitconfig.Pointer(path, "gitdir: ")
	real, err := filepath.EvalSymlinks(dir)
	if !ok || err != nil || !isGitDir(real) {
		return ""
	}
	return real
}

// gitObeys returns what in a git directory makes git run programs or read elsewhere: its settings, hooks and
// attributes, the same of submodules and linked worktrees, and the paths in the worktree that its settings name.
func gitObeys(dir, worktree string) []string {
	var out []string
	for _, name := range []string{"hooks", "config", "config.worktree", "commondir", "info/attributes",
		"objects/info/alternates"} {
		out = append(out, filepath.Join(dir, name))
	}
	out = append(out, gitNames(filepath.Join(dir, "config"), worktree)...)
	entries, _ := os.ReadDir(filepath.Join(dir, "worktrees"))
	for _, e := range entries {
		for _, name := range []string{"commondir", "gitdir", "config.worktree"} {
			out = append(out, filepath.Join(dir, "worktrees", e.Name(), name))
		}
	}
	return append(out, modules(filepath.Join(dir, "modules"), 8)...)
}

// modules returns what the git directories of submodules obey. A submodule's name may contain slashes, and its own
// submodules are in its directory.
func modules(dir string, levels int) []string {
	entries, err := os.ReadDir(dir)
	if err != nil || levels == 0 {
		return nil
	}
	var out []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
		case isGitDir(path):
			out = append(out, gitObeys(path, "")...)
		default:
			out = append(out, modules(path, levels-1)...)
		}
	}
	return out
}

// gitNames returns the paths in a worktree that a git configuration names: hooks,
// and files that it includes.
func gitNames(config, worktree string) []string {
	if worktree == "" {
		return nil
	}
	var out []string
	for _, s := range gitconfig.Read(config) {
		value := s.Included(config, "")
		if s.Key.Pattern() == "core.hookspath" {
			value = s.Value
		}
		if value == "" || strings.HasPrefix(s.Value, "~") {
			continue
		}
		if !filepath.IsAbs(value) {
			value = filepath.Join(worktree, value)
		}
		if value = filepath.Clean(value); names.Below(value, worktree) && value != worktree {
			out = append(out, value)
		}
	}
	return out
}

// isIn reports whether a path is one of dirs or below one.
func isIn(path string, dirs []string) bool {
	_, ok := names.Within(path, dirs)
	return ok
}
