package sandbox

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// obeyed is protected at the top of a workspace although it does not exist:
// what Adze itself, other agents and git would obey. Others are protected where
// they exist.
var obeyed = []string{".git", ".adze", ".qwen", ".agents", ".mcp.json"}

// startup is protected in a home directory that is in a workspace although it
// does not exist: what shells, sessions and git read or run for the user.
var startup = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
	".ssh", ".gitconfig", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment", ".inputrc", ".vimrc", ".exrc", ".npmrc", ".claude", ".codex",
	".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d", "bin", ".local/bin", ".cargo/bin", "go/bin",
}

// protected is what must not be written below the roots: what programs obey, at
// any depth. Of a git directory it is the parts that make git run something or
// look elsewhere, so that commits work.
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
	if b.home != "" && holding(b.home, b.roots) != "" {
		for _, name := range startup {
			if _, err := os.Stat(filepath.Join(b.home, filepath.Dir(name))); err == nil {
				out = append(out, filepath.Join(b.home, name))
			}
		}
	}
	for _, path := range b.tree.found() {
		switch {
		case filepath.Base(path) != ".git":
			out = append(out, path)
		case isGitDir(path):
			out = append(out, gitObeys(path, filepath.Dir(path))...)
		default:
			out = append(out, path)
			if dir := gitFile(path); dir != "" && holding(dir, slices.Concat(b.roots, b.write)) != "" {
				out = append(out, gitObeys(dir, filepath.Dir(path))...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// protects reports whether a path that exists is protected by its name.
func (b *Base) protects(path string) bool {
	return filepath.Base(path) == ".git" || b.names != nil && b.names(path)
}

// Protected finds what must not be written below the roots.
func Protected(roots []string, names func(path string) bool) []string {
	return (&Base{roots: roots, names: names, tree: newTree(roots, (&Base{names: names}).protects)}).protected()
}

// gitFile is the git directory that a .git file leads to.
func gitFile(path string) string {
	text, err := os.ReadFile(path)
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(path), dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !isGitDir(real) {
		return ""
	}
	return real
}

// gitObeys is what in a git directory makes git run something or look
// elsewhere: its settings, hooks and attributes, the same of submodules and
// linked worktrees, and what its settings name in the worktree.
func gitObeys(dir, worktree string) []string {
	var out []string
	for _, name := range []string{"hooks", "config", "config.worktree", "commondir", "info/attributes", "objects/info/alternates"} {
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

// modules is what the git directories of submodules obey. A submodule's name may
// contain slashes, and its own submodules lie in its directory.
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

// gitNames are the paths in a worktree that a git configuration names: hooks,
// and files that it includes.
func gitNames(config, worktree string) []string {
	f, err := os.Open(config)
	if err != nil || worktree == "" {
		return nil
	}
	defer f.Close()
	var out []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.Trim(strings.TrimSpace(value), `"`)
		at := worktree
		switch {
		case !ok || value == "" || strings.HasPrefix(value, "~"):
			continue
		case key == "hookspath":
		case key == "path":
			at = filepath.Dir(config)
		default:
			continue
		}
		if !filepath.IsAbs(value) {
			value = filepath.Join(at, value)
		}
		if value = filepath.Clean(value); below(value, worktree) && value != worktree {
			out = append(out, value)
		}
	}
	return out
}

// tree remembers the directories of a workspace, so that only those that have
// changed are read again.
type tree struct {
	mu    sync.Mutex
	roots []string
	match func(path string) bool
	dirs  map[string]*treeDir
}

type treeDir struct {
	stamp  stamp
	fresh  bool     // it was read so soon after a change that its stamp may miss another
	subs   []string // directories
	found  []string // what matches
	closed bool     // it can't be read
}

// stamp tells whether a directory has changed.
type stamp struct {
	id      ID
	changed time.Time
}

// tick is longer than the kernel's clock for changes of files takes.
const tick = 50 * time.Millisecond

// mostDirs bounds how many directories are looked at. The rest is read-only.
const mostDirs = 200_000

func newTree(roots []string, match func(path string) bool) *tree {
	return &tree{roots: roots, match: match, dirs: map[string]*treeDir{}}
}

// found is what matches now, and the directories that were not looked at.
func (t *tree) found() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	next := map[string]*treeDir{}
	queue := slices.Clone(t.roots)
	for len(queue) > 0 {
		path := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if len(next) >= mostDirs {
			out = append(out, path)
			continue
		}
		stamp, ok := stampOf(path)
		if !ok {
			continue // it has gone
		}
		d := t.dirs[path]
		if d == nil || d.stamp != stamp || d.fresh {
			d = t.read(path, stamp)
		}
		next[path] = d
		if d.closed {
			if !slices.Contains(t.roots, path) {
				out = append(out, path)
			}
			continue
		}
		out = append(out, d.found...)
		queue = append(queue, d.subs...)
	}
	t.dirs = next
	return out
}

// read reads one directory.
func (t *tree) read(path string, s stamp) *treeDir {
	d := &treeDir{stamp: s, fresh: time.Since(s.changed) < tick}
	f, err := os.Open(path)
	if err != nil {
		d.closed = true
		return d
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		d.closed = true
	}
	for _, e := range entries {
		at := filepath.Join(path, e.Name())
		switch {
		case t.match(at):
			d.found = append(d.found, at)
		case e.IsDir() && e.Name() != "node_modules":
			d.subs = append(d.subs, at)
		}
	}
	return d
}
