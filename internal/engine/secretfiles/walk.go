package secretfiles

import (
	"errors"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// pool reads directories with several goroutines.
type pool struct {
	tree  *tree
	mu    sync.Mutex
	wake  sync.Cond
	stack []*dir
	busy  int
}

func (p *pool) work() {
	p.mu.Lock()
	defer p.mu.Unlock()
	buffer := make([]byte, 16<<10)
	for {
		for len(p.stack) == 0 && p.busy > 0 {
			p.wake.Wait()
		}
		if len(p.stack) == 0 {
			p.wake.Broadcast()
			return
		}
		d := p.stack[len(p.stack)-1]
		p.stack = p.stack[:len(p.stack)-1]
		p.busy++
		p.mu.Unlock()
		var found []*dir
		if !p.tree.stop.Load() && !p.tree.hasFailed() {
			found = p.tree.read(d, buffer)
		}
		p.mu.Lock()
		p.busy--
		p.stack = append(p.stack, found...)
		p.wake.Broadcast()
	}
}

// read watches a directory, then reads it, and returns the new directories in it.
func (t *tree) read(d *dir, buffer []byte) (found []*dir) {
	path := d.path()
	if err := t.watch(d, path); err != nil {
		t.cannot(d, path, err)
		return nil
	}
	began := time.Now()
	list, err := openDir(path, buffer)
	if err != nil {
		t.cannot(d, path, err)
		return nil
	}
	defer list.close()
	stamp, err := list.stamp()
	if err != nil {
		t.cannot(d, path, err)
		return nil
	}
	d.stamp, d.racy = stamp, stamp.racy(began)
	return t.readEntries(d, path, list)
}

func (t *tree) readEntries(d *dir, path string, list *dirReader) (found []*dir) {
	known, old := d.dirs, d.files
	d.dirs, d.files = nil, nil
	t.entries.Add(-int64(d.entries))
	d.entries = 0
	t.forget(old)
	skip := t.options.Skip != nil && t.options.Skip(path)
	err := list.each(func(name string, kind kind) bool {
		d.entries++
		if t.entries.Add(1) > int64(t.options.Limit) {
			t.fail("the workspace has more than "+humanize.Number(t.options.Limit)+" entries", remedyNone)
			return false
		}
		switch {
		case kind == kindDir:
			if sub := known[name]; sub != nil {
				delete(known, name)
				if d.dirs == nil {
					d.dirs = map[string]*dir{}
				}
				d.dirs[name] = sub
			} else if !t.skips(d, name) {
				found = append(found, d.add(name))
			}
		case kind != kindFile && kind != kindLink, skip && names.Ordinary(name):
		default:
			if f := t.ask(join(path, name), kind == kindLink); f != nil {
				t.keep(d, name, f)
				t.arrives(f, t.walked && old[name] == nil)
			}
		}
		return true
	})
	t.orphan(known)
	if err != nil {
		t.cannot(d, path, err)
	}
	return found
}

// orphan records directories that no longer exist. Another goroutine may be reading them, so they are dropped at the
// end.
func (t *tree) orphan(dirs map[string]*dir) {
	if len(dirs) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range dirs {
		t.orphans = append(t.orphans, d)
	}
}

// forget drops files of a directory that is read again.
func (t *tree) forget(old map[string]*file) {
	if len(old) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range old {
		delete(t.files, f)
	}
}

// watch adds a watch to a directory. If that fails, the tree works without watches.
func (t *tree) watch(d *dir, path string) error {
	if t.watcher == nil || d.once || t.unwatched.Load() {
		return nil
	}
	wd, err := t.watcher.Add(path)
	switch {
	case err == nil:
		t.mu.Lock()
		defer t.mu.Unlock()
		if wd != d.wd {
			t.unwatch(d)
			t.byWd[wd] = append(t.byWd[wd], d)
			d.wd = wd
		}
		return nil
	case gone(err), errors.Is(err, fs.ErrPermission):
		return err
	}
	t.unwatched.Store(true) // usually ENOSPC: the user has no more watches
	return nil
}

// cannot records a directory that can't be read. One that disappeared is fine: its parent changed too.
func (t *tree) cannot(d *dir, path string, err error) {
	switch {
	case gone(err):
		d.stamp = stamp{}
	case errors.Is(err, fs.ErrPermission):
		if !d.once && mayEnter(path) {
			t.fail(path+" can be entered, but not listed", remedyWalk)
		}
		d.stamp, _ = lstat(path)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.unread[d] = struct{}{}
	case d.once:
	default:
		t.fail(path+" can't be read", remedyWalk)
	}
}

func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}
