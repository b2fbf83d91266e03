package places

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// tree caches the directories of a workspace, so that only changed ones are read again.
type tree struct {
	mu    sync.Mutex
	roots []string
	match func(path string) bool
	plain bool // only match counts: neither .git nor node_modules is special, and what matches isn't entered
	limit int  // directories that are read
	over  bool // there were more
	dirs  map[string]*treeDir
}

type treeDir struct {
	stamp  stamp
	fresh  bool // it was read so soon after a change that its stamp may miss another one
	subs   []subDir
	names  []string // protected entries, and .git
	links  []string // entries called .git that are no directories
	signs  names.GitSigns
	closed bool // it can't be read
}

// subDir is a directory in another one. In an inner one no names are protected, because a directory above it is, or
// because it is in node_modules; it may still be or contain a repository.
type subDir struct {
	path           string
	inner, modules bool // modules: in node_modules
}

// walked is what a walk found.
type walked struct {
	names        []string // protected paths, .git included, and directories that were not read
	repositories []string // directories that git takes for a repository, whatever their names are
	links        []string // files and links called .git
	locked       []func() // restore the permissions of directories
}

// stamp shows whether a directory has changed.
type stamp struct {
	id      sandbox.ID
	changed time.Time
}

// tick is longer than a tick of the kernel's file times.
const tick = 50 * time.Millisecond

// maxDirs bounds the number of directories that are read. The rest is read-only.
const maxDirs = 200_000

func newTree(roots []string, match func(path string) bool) *tree {
	return &tree{roots: roots, match: match, limit: maxDirs, dirs: map[string]*treeDir{}}
}

// walk finds what must not be written.
func (t *tree) walk() walked { return t.look(t.limit, false) }

// walkAll finds the repositories of all directories, including those that a command made unreadable. They are
// readable until the caller restores that.
func (t *tree) walkAll() walked { return t.look(int(^uint(0)>>1), true) }

func (t *tree) look(limit int, open bool) (out walked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = false
	next := map[string]*treeDir{}
	var queue []subDir
	for _, root := range t.roots {
		queue = append(queue, subDir{path: root})
	}
	for outer := 0; len(queue) > 0; {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if !at.inner {
			if outer++; outer > limit {
				out.names, t.over = append(out.names, at.path), true
				continue
			}
		}
		d := t.dirs[at.path]
		if d == nil || !at.modules || open { // node_modules is looked at after each command, which is enough
			stamp, ok := stampOf(at.path)
			if !ok {
				continue // it no longer exists
			}
			if d == nil || d.stamp != stamp || d.fresh {
				if open {
					out.locked = append(out.locked, unlock(at.path, stamp.id))
				}
				d = t.read(at, stamp)
			}
		}
		next[at.path] = d
		if d.closed {
			if !slices.Contains(t.roots, at.path) {
				out.names = append(out.names, at.path)
			}
			continue
		}
		out.names = append(out.names, d.names...)
		out.links = append(out.links, d.links...)
		if d.signs.Repository() {
			out.repositories = append(out.repositories, at.path)
		}
		queue = append(queue, d.subs...)
	}
	t.dirs = next
	return out
}

// read reads one directory.
func (t *tree) read(at subDir, s stamp) *treeDir {
	d := &treeDir{stamp: s, fresh: time.Since(s.changed) < tick}
	entries, err := os.ReadDir(at.path)
	d.closed = err != nil
	for _, e := range entries {
		path, inner := filepath.Join(at.path, e.Name()), at.inner
		if t.plain {
			if t.match(path) {
				d.names = append(d.names, path)
			} else if e.IsDir() {
				d.subs = append(d.subs, subDir{path: path})
			}
			continue
		}
		modules := at.modules || e.Name() == "node_modules"
		special := e.Type()&^(os.ModeDir|os.ModeSymlink) != 0 // as placeholders of protected names are
		if !special {
			d.signs |= names.GitSign(e.Name())
		}
		switch {
		case names.IsGit(e.Name()):
			d.names, inner = append(d.names, path), true
			if !e.IsDir() && !special {
				d.links = append(d.links, path)
			}
		case !inner && !modules && t.match(path):
			d.names, inner = append(d.names, path), true
		}
		if e.IsDir() {
			d.subs = append(d.subs, subDir{path, inner || modules, modules})
		}
	}
	return d
}

func (w *walked) restore() {
	for _, restore := range slices.Backward(w.locked) {
		restore()
	}
}

// unlock gives this user all permissions for a directory, and returns a function that restores them.
func unlock(path string, id sandbox.ID) (restore func()) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return func() {}
	}
	name := filepath.Base(path)
	st, err := root.Lstat(name)
	if err != nil || idOf(st) != id || st.Mode().Perm()&0o700 == 0o700 ||
		root.Chmod(name, st.Mode().Perm()|0o700) != nil {
		root.Close()
		return func() {}
	}
	return func() {
		_ = root.Chmod(name, st.Mode())
		root.Close()
	}
}

// open opens a directory, unless a command has replaced it since the last walk.
func (t *tree) open(path string) (*os.Root, error) {
	t.mu.Lock()
	d := t.dirs[path]
	t.mu.Unlock()
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	if st, err := root.Stat("."); err != nil || d == nil || idOf(st) != d.stamp.id {
		return nil, errors.Join(err, root.Close(), fmt.Errorf("%s is being replaced", path))
	}
	return root, nil
}
