package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adze-dev/adze/internal/search"
	"github.com/adze-dev/adze/internal/workspace/nofollow"
)

// Limits bound how much of a workspace is saved.
type Limits struct {
	FileBytes int64 // larger files aren't saved
	Bytes     int64 // of all files
	Files     int
}

// known is a path as it was last seen.
type known struct {
	stat  search.Stat
	state State
	shut  bool // not entered: ignored, or .git
	racy  bool // it may have changed within the resolution of its time
	round int  // of the scan that saw it
	why   string
}

// snapshot is the last known state of the workspace. Every content in it is in the store, or the state is unsaved.
type snapshot struct {
	roots  []string
	skip   []string
	limits Limits
	store  *Store

	paths map[string]*known
	git   map[string]search.Stat // of the files that show whether .git changed
	saved atomic.Int64           // bytes
	round int
	cut   bool // there are more files than the limit: only known paths are compared
	told  bool // the user was informed
}

// difference is the result of a scan.
type difference struct {
	changes   []Change
	uncovered []uncovered
	git       bool
}

// uncovered is a changed path that can't be restored.
type uncovered struct{ path, why string }

// base reads the whole workspace.
func (s *snapshot) base(ctx context.Context) error {
	s.paths = map[string]*known{}
	_, err := s.scan(ctx)
	return err
}

// racyTime is how long after a change of a file another one can have the same time.
const racyTime = 20 * time.Millisecond

// scan compares the workspace with the snapshot, saves new contents, and updates the snapshot.
func (s *snapshot) scan(ctx context.Context) (difference, error) {
	began := time.Now().Add(-racyTime).UnixNano()
	s.round++
	first := s.round == 1
	nodes, err := s.list(ctx, first)
	if err != nil {
		return difference{}, err
	}
	var d difference
	var differ []search.Node
	for _, n := range nodes {
		old, ok := s.paths[n.Path]
		if ok && old.stat == n.Stat && !old.racy {
			old.round = s.round
			continue
		}
		differ = append(differ, n)
	}
	now, err := s.read(ctx, differ)
	if err != nil {
		return difference{}, err
	}
	for i, n := range differ {
		k := &now[i]
		var old known
		if last, ok := s.paths[n.Path]; ok {
			old = *last
		}
		k.onlyMode(old)
		k.round, k.racy = s.round, k.racy || max(n.Stat.Changed, n.Stat.Modified) > began
		s.paths[n.Path] = k
		if !first {
			d.add(n.Path, old, *k)
		}
	}
	s.missing(&d)
	d.git = s.lookGit() && !first
	slices.SortFunc(d.changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return d, nil
}

// onlyMode uses the content from before the mode change for a file that can't be read.
func (k *known) onlyMode(old known) {
	a, b := k.stat, old.stat
	if k.state.Is == isUnsaved && k.racy && old.state.isFile() && a.Size == b.Size && a.Modified == b.Modified && a.Inode == b.Inode && a.Mode != b.Mode {
		k.state.Is = old.state.Is
	}
}

// missing finds the paths that the scan didn't see.
func (s *snapshot) missing(d *difference) {
	for path, old := range s.paths {
		if old.round == s.round {
			continue
		}
		if s.cut {
			if _, err := os.Lstat(path); err == nil {
				continue
			}
		}
		delete(s.paths, path)
		d.add(path, *old, known{})
	}
}

// add notes a change.
func (d *difference) add(path string, old, now known) {
	switch {
	case old.shut && now.shut && filepath.Base(path) == ".git":
	case old.shut || now.shut:
		if old.state.Is != now.state.Is || old.stat.Modified != now.stat.Modified {
			why := whyIgnored
			if len(path) >= search.MaxPath {
				why = "too deep"
			}
			d.uncovered = append(d.uncovered, uncovered{path, why})
		}
	case old.state.Is == isUnsaved || now.state.Is == isUnsaved:
		d.uncovered = append(d.uncovered, uncovered{path, cmp.Or(old.why, now.why)})
	case old.state != now.state:
		d.changes = append(d.changes, Change{path, old.state, now.state})
	}
}

const whyIgnored = "an ignored directory"

// list returns everything in the workspace.
func (s *snapshot) list(ctx context.Context, first bool) ([]search.Node, error) {
	if s.cut {
		return s.listKnown(), nil
	}
	var roots []string
	for _, root := range s.roots {
		if info, err := os.Stat(root); err == nil && info.IsDir() && !slices.Contains(s.skip, root) {
			roots = append(roots, root)
		}
	}
	if len(roots) == 0 {
		return nil, nil
	}
	req := search.TreeRequest{Paths: roots, Skip: s.skip, Limit: s.limits.Files}
	if !first {
		req.Known = func(path string) (enter, known bool) {
			k, ok := s.paths[path]
			return ok && !k.shut, ok && (k.shut || k.state.Is == isDir)
		}
	}
	res, err := search.Tree(ctx, req)
	if err != nil {
		return nil, err
	}
	if res.Incomplete == search.Enough {
		s.cut = true
	}
	return res.Nodes, nil
}

// listKnown returns only known paths.
func (s *snapshot) listKnown() []search.Node {
	var nodes []search.Node
	for path, k := range s.paths {
		if info, err := os.Lstat(path); err == nil {
			nodes = append(nodes, search.Node{Path: path, Shut: k.shut && info.IsDir(), Stat: search.StatOf(info).Lasting()})
		}
	}
	return nodes
}

// read reads the state of the nodes, and saves the contents of files.
func (s *snapshot) read(ctx context.Context, nodes []search.Node) ([]known, error) {
	out := make([]known, len(nodes))
	s.budget(nodes)
	var next atomic.Int64
	var wg sync.WaitGroup
	const share = 64
	workers := min(runtime.GOMAXPROCS(0), (len(nodes)+share-1)/share)
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			b := &batch{store: s.store}
			for {
				end := int(next.Add(share))
				if end-share >= len(nodes) || ctx.Err() != nil {
					break
				}
				for i := end - share; i < min(end, len(nodes)); i++ {
					out[i], errs[w] = s.readNode(nodes[i], b)
					if errs[w] != nil {
						return
					}
				}
			}
			errs[w] = b.flush()
		})
	}
	wg.Wait()
	return out, errors.Join(append(errs, ctx.Err())...)
}

// budget puts small files first if not all can be saved.
func (s *snapshot) budget(nodes []search.Node) {
	var sum int64
	for _, n := range nodes {
		if n.Stat.Mode.IsRegular() && n.Stat.Size <= s.limits.FileBytes {
			sum += n.Stat.Size
		}
	}
	if s.saved.Load()+sum > s.limits.Bytes {
		slices.SortFunc(nodes, func(a, b search.Node) int {
			return cmp.Or(cmp.Compare(a.Stat.Size, b.Stat.Size), cmp.Compare(a.Path, b.Path))
		})
	}
}

// readNode reads one path. Only a failure of the store is an error.
func (s *snapshot) readNode(n search.Node, b *batch) (known, error) {
	k := known{stat: n.Stat, shut: n.Shut}
	switch {
	case n.Stat.Mode.IsDir() || n.Shut:
		k.state = State{isDir, n.Stat.Mode & modeBits}
		return k, nil
	case n.Stat.Mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(n.Path)
		if err != nil {
			return known{stat: n.Stat, racy: true, state: State{Is: isUnsaved}, why: err.Error()}, nil
		}
		k.state = linkTo(target)
		return k, nil
	}
	k.state = State{isUnsaved, n.Stat.Mode & modeBits}
	if !n.Stat.Mode.IsRegular() {
		k.why = nofollow.Kind(n.Stat.Mode)
		return k, nil
	}
	if n.Stat.Size > s.limits.FileBytes {
		k.why = fmt.Sprintf("over %s", size(s.limits.FileBytes))
		return k, nil
	}
	if s.saved.Add(n.Stat.Size) > s.limits.Bytes {
		s.saved.Add(-n.Stat.Size)
		k.why = fmt.Sprintf("files over %s in all", size(s.limits.Bytes))
		return k, nil
	}
	h, err := readSmall(n.Path, n.Stat.Size, s.limits.FileBytes, b)
	var failed *storeError
	switch {
	case errors.As(err, &failed):
		return k, err
	case err != nil:
		k.why, k.racy = "can't be read", true
		return k, nil
	}
	if !b.fresh {
		s.saved.Add(-n.Stat.Size)
	}
	k.state.Is = name(h)
	return k, nil
}

// size returns a number of bytes for the user.
func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// gitFiles are the files in .git that commands change.
const gitFiles = "HEAD index config packed-refs refs refs/heads refs/tags refs/remotes logs/HEAD hooks FETCH_HEAD ORIG_HEAD"

// lookGit reports whether .git changed since the last time.
func (s *snapshot) lookGit() bool {
	now := map[string]search.Stat{}
	for _, root := range s.roots {
		for _, file := range strings.Fields(gitFiles) {
			path := filepath.Join(root, ".git", file)
			if info, err := os.Lstat(path); err == nil {
				st := search.StatOf(info)
				if info.IsDir() {
					st.Size = 0
				}
				now[path] = st
			}
		}
	}
	old := s.git
	s.git = now
	if len(old) != len(now) {
		return true
	}
	for path, st := range now {
		if old[path] != st {
			return true
		}
	}
	return false
}
