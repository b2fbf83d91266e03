package undo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/adze-dev/adze/internal/engine/search"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/watch"
)

// watched is what a snapshot knows from watches: which paths may have changed since the last scan. Without watches,
// each scan compares the times of all files.
type watched struct {
	hub     *watch.Hub // nil: there are no watches
	why     string     // why there are none
	watcher *watch.Watcher
	at      map[int32]string // paths of directories
	wd      map[string]int32
	always  map[string]bool // paths that can change without an event
	// files that running programs had open at the last scan; true: they can write them through memory
	open  map[string]bool
	since uint64 // when the session started
}

// listing is what a scan has to compare.
type listing struct {
	nodes  []search.Node
	mapped map[string]bool // files that may have changed without a change of their times
	all    bool            // everything else no longer exists
	absent []string        // what no longer exists
	gone   map[string]bool // what was in these directories no longer exists, unless it is in nodes
}

// look lists what may have changed.
func (s *snapshot) look(ctx context.Context, first bool) (listing, error) {
	before := s.open
	s.open = openFiles(s.since, s.roots)
	mapped := map[string]bool{}
	for _, files := range []map[string]bool{before, s.open} {
		for path, memory := range files {
			if memory {
				mapped[path] = true
			}
		}
	}
	if paths, ok := s.changed(s.roots); ok {
		for _, files := range []map[string]bool{before, s.open} {
			for path := range files {
				paths[path] = true
			}
		}
		if l, ok := s.listChanged(ctx, paths); ok {
			l.nodes, l.mapped = append(l.nodes, s.otherNames(l.nodes)...), mapped
			return l, nil
		}
	}
	s.stop()
	began := time.Now().Add(-racyTime).UnixNano()
	s.start(s) // before the files are listed
	nodes, err := s.list(ctx)
	l := listing{nodes: nodes, mapped: mapped, all: true}
	if err == nil && s.watcher != nil {
		more, ok := s.watchNew(ctx, nodes, first, began)
		if l.nodes = replaced(l.nodes, more); !ok {
			s.stop()
		}
	}
	return l, err
}

// errUnwatched means that a directory can't be watched.
var errUnwatched = errors.New("not watched")

// start watches all known directories. The scan that follows must compare all files.
func (w *watched) start(s *snapshot) {
	if w.hub == nil || w.why != "" || w.watcher != nil || s.cut {
		return
	}
	var err error
	if w.watcher, err = w.hub.Open(watch.Writes); err != nil {
		w.watcher = nil
		w.give("the system reports no changes: " + err.Error())
		return
	}
	w.at, w.wd, w.always = map[int32]string{}, map[string]int32{}, map[string]bool{}
	for _, root := range s.roots {
		if w.watcher != nil {
			w.add(root)
		}
	}
	for path, k := range s.paths {
		if w.watcher == nil {
			return
		}
		w.note(path, k)
		if k.kind == isEntered {
			w.add(path)
		}
	}
}

// give stops watching: times are compared.
func (w *watched) give(why string) {
	w.why = why
	w.stop()
}

// stop ends the watches.
func (w *watched) stop() {
	if w.watcher != nil {
		w.watcher.Close()
	}
	w.watcher, w.at, w.wd, w.always = nil, nil, nil, nil
}

// add watches a directory. One that no longer exists is fine: the scan finds that out.
func (w *watched) add(path string) {
	wd, err := w.watcher.Add(path)
	switch {
	case gone(err):
	case errors.Is(err, fs.ErrPermission): // it can't be listed either; a new mode is an event of its parent
		w.drop(path)
		w.wd[path] = unwatchable
	case full(err):
		w.give(fmt.Sprintf("the workspace has more directories than the %d that Adze can watch (half of "+
			"fs.inotify.max_user_watches)", watch.Limit()))
	case err != nil:
		w.give("watch " + path + ": " + err.Error())
	case !local(path):
		w.give(path + " is on a file system that doesn't report all changes")
	default:
		w.drop(path)
		w.at[wd], w.wd[path] = path, wd
	}
}

// unwatchable is the number of a directory that the user may not read.
const unwatchable = -1

// drop ends the watch of a directory that is no longer at a path.
func (w *watched) drop(path string) {
	if wd, ok := w.wd[path]; ok && w.watcher != nil {
		if delete(w.wd, path); w.at[wd] == path {
			delete(w.at, wd)
			w.watcher.Remove(wd)
		}
	}
}

// note records whether a path has to be compared in each scan: a skipped directory, whose content isn't watched, a file
// that may have changed just before it was read, and one with several names.
func (w *watched) note(path string, k *known) {
	if w.watcher == nil {
		return
	}
	if k.shut || k.racy || k.stat.Links > 1 && k.stat.Mode.IsRegular() || k.text == whyUnread {
		w.always[path] = true
	} else {
		delete(w.always, path)
	}
}

// changed returns the paths that may have changed; ok is false if it isn't known, and all files must be compared.
func (w *watched) changed(roots []string) (paths map[string]bool, ok bool) {
	if w.watcher == nil {
		return nil, false
	}
	paths, ok = map[string]bool{}, true
	err := w.watcher.Read(func(e watch.Event) {
		dir, known := w.at[e.WD]
		switch {
		case e.Overflow, e.Self && slices.Contains(roots, dir):
			ok = false
		case !known:
		case e.Name != "":
			paths[filepath.Join(dir, e.Name)] = true
		case e.Ended: // its parent has an event too
			delete(w.at, e.WD)
			if w.wd[dir] == e.WD {
				delete(w.wd, dir)
				paths[dir] = true
			}
		}
	})
	for _, root := range roots {
		if _, known := w.wd[root]; !known {
			ok = false
		}
	}
	for path := range w.always {
		paths[path] = true
	}
	return paths, ok && err == nil
}

// listChanged lists these paths, and everything in new directories. ok is false if everything has to be compared.
func (s *snapshot) listChanged(ctx context.Context, paths map[string]bool) (l listing, ok bool) {
	l.gone = map[string]bool{}
	fresh := map[string]bool{} // directories to list
	for path := range paths {
		if s.skips(path) {
			continue
		}
		old := s.paths[path]
		entered := old != nil && old.kind == isEntered
		info, err := os.Lstat(path)
		if err != nil {
			l.absent = append(l.absent, path)
			if entered {
				l.gone[path] = true
			}
			continue
		}
		st := search.StatOf(info).Lasting()
		wd, watched := s.wd[path] // a new directory can have the inode of one that was deleted
		isNew := info.IsDir() && (old == nil || old.stat.Inode != st.Inode || !old.shut &&
			(!watched || wd == unwatchable))
		if entered && (isNew || !info.IsDir()) {
			l.gone[path] = true
		}
		if isNew {
			fresh[path] = true
		} else {
			l.nodes = append(l.nodes, search.Node{Path: path, Shut: old != nil && old.shut && info.IsDir(), Stat: st})
		}
	}
	if len(l.gone) > 0 {
		for path := range s.wd {
			if names.BelowAny(path, l.gone) {
				s.drop(path)
			}
		}
	}
	for path := range fresh {
		if s.add(path); s.watcher == nil {
			return l, false
		}
	}
	if len(fresh) > 0 {
		found, err := s.listFresh(ctx, fresh)
		if err != nil {
			return l, false
		}
		more, ok := s.watchNew(ctx, found, false, 0)
		if l.nodes = append(l.nodes, replaced(found, more)...); !ok {
			return l, false
		}
	}
	return l, true
}

// otherNames lists the other names of new hard links: a write by one name is no event for another.
func (s *snapshot) otherNames(nodes []search.Node) (more []search.Node) {
	inodes := map[uint64]bool{}
	for _, n := range nodes {
		if n.Stat.Links > 1 && n.Stat.Mode.IsRegular() && !s.always[n.Path] {
			inodes[n.Stat.Inode] = true
		}
	}
	if len(inodes) == 0 {
		return nil
	}
	for path, k := range s.paths {
		if inodes[k.stat.Inode] && !s.always[path] {
			if info, err := os.Lstat(path); err == nil {
				more = append(more, search.Node{
					Path: path, Shut: k.shut && info.IsDir(), Stat: search.StatOf(info).Lasting(),
				})
			}
		}
	}
	return more
}

// skips reports whether a path isn't saved.
func (s *snapshot) skips(path string) bool {
	_, skipped := names.Within(path, s.skip)
	return skipped
}

// watchNew watches the directories that aren't watched yet, and lists them again: what changed before that had no
// event. At first, only those are listed again whose times show that something was added or removed: the files are read
// later.
func (s *snapshot) watchNew(ctx context.Context, nodes []search.Node, first bool, began int64) (more []search.Node,
	ok bool) {
	for found := nodes; ; first = false {
		fresh := map[string]bool{}
		for _, n := range found {
			_, is := s.wd[n.Path]
			switch {
			case n.Shut:
				s.drop(n.Path)
			case n.Stat.Mode.IsDir() && !is:
				if s.add(n.Path); s.watcher == nil {
					return more, false
				}
				if !first || !unchanged(n, began) {
					fresh[n.Path] = true
				}
			}
		}
		if len(fresh) == 0 {
			return more, true
		}
		var err error
		if found, err = s.listFresh(ctx, fresh); err != nil {
			return more, false
		}
		more = append(more, found...)
	}
}

// replaced returns nodes without those that were listed again, and these.
func replaced(nodes, again []search.Node) []search.Node {
	if len(again) == 0 {
		return nodes
	}
	last := map[string]int{}
	for i, n := range again {
		last[n.Path] = i
	}
	nodes = slices.DeleteFunc(nodes, func(n search.Node) bool { _, is := last[n.Path]; return is })
	for i, n := range again {
		if last[n.Path] == i {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// unchanged reports whether nothing was added to a directory or removed from it since its entry was listed.
func unchanged(n search.Node, began int64) bool {
	info, err := os.Lstat(n.Path)
	if err != nil {
		return false
	}
	st := search.StatOf(info)
	return st.Modified == n.Stat.Modified && st.Changed == n.Stat.Changed && st.Changed != 0 &&
		max(st.Modified, st.Changed) < began
}

// maxParents bounds the directories that are open at once.
const maxParents = 128

// listFresh lists new directories and everything in them. Their parents are listed too, because their ignore rules
// decide whether a directory is entered.
func (s *snapshot) listFresh(ctx context.Context, fresh map[string]bool) ([]search.Node, error) {
	parents := map[string]bool{}
	for path := range fresh {
		if !names.BelowAny(filepath.Dir(path), fresh) {
			parents[filepath.Dir(path)] = true
		}
	}
	var dirs []string
	for dir := range parents {
		dirs = append(dirs, dir)
	}
	if len(dirs) > maxParents {
		return nil, errUnwatched
	}
	res, err := search.Tree(ctx, search.TreeRequest{Paths: dirs, Skip: s.skip, Limit: s.entries(),
		Known: func(path string) (enter, known bool) {
			if !names.BelowAny(path, fresh) {
				return false, true
			}
			return s.entered(path)
		}})
	if err != nil || res.Incomplete == search.Enough {
		return nil, errors.Join(err, errUnwatched)
	}
	nodes := slices.DeleteFunc(res.Nodes, func(n search.Node) bool { return !names.BelowAny(n.Path, fresh) })
	return nodes, nil
}

// Unwatched returns why the changes of each command are found by the times of all files, which takes longer; "" if they
// are found by watches.
func (t *Tracker) Unwatched(ctx context.Context) (why string, err error) {
	s := t.snapshot(nil)
	s.paths = map[string]*known{}
	nodes, err := s.list(ctx)
	if err != nil {
		return "", err
	}
	if s.cut {
		return fmt.Sprintf("the workspace has over %d files and directories", s.entries()), nil
	}
	for _, n := range nodes {
		if n.Stat.Mode.IsDir() && !n.Shut {
			s.paths[n.Path] = &known{kind: isEntered}
		}
	}
	s.start(s)
	s.stop()
	return s.watched.why, nil
}
