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
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/search"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// Limits bound how much of a workspace is saved.
type Limits struct {
	FileBytes int64 // larger files are saved only if the file system can clone them
	Bytes     int64 // of all copied files
	Files     int   // saved before the first call, the newest first
	Entries   int   // of a workspace with more, only some are compared; 0: 2,000,000
}

// snapshot is the last known state of the workspace. Every content in it is in the store, or the state is a node.
type snapshot struct {
	roots  []string
	skip   []string
	limits Limits
	store  *Store

	paths   map[string]*known
	large   map[string]*known // large files by their node, during a scan that finds new ones
	saved   atomic.Int64      // bytes
	round   uint32
	newest  newest
	omitted atomic.Int64
	watched
	compared int  // paths, by all scans
	cut      bool // there are more files than the limit: only known paths are compared
}

// difference is the result of a scan.
type difference struct {
	changes []Change
	lost    []Lost
	unsaved []Change // the states of what is lost
}

// base reads the whole workspace.
func (s *snapshot) base(ctx context.Context) error {
	s.paths = map[string]*known{}
	s.limits.Bytes = min(s.limits.Bytes, free(s.store.dir)/2)
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
	l, err := s.look(ctx, first)
	if err != nil {
		return difference{}, err
	}
	if first {
		s.findNewest(l.nodes)
	}
	var d difference
	differ := l.nodes[:0] // there may be a million
	s.compared += len(l.nodes)
	for _, n := range l.nodes {
		old, ok := s.paths[n.Path]
		if ok && old.stat == n.Stat && !old.racy && !l.mapped[n.Path] {
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
		s.note(n.Path, k)
		if !first {
			s.compare(&d, n.Path, &old, k)
		}
	}
	s.missing(&d, l)
	d.finish(s, first)
	return d, nil
}

// missing finds the paths that the scan didn't see.
func (s *snapshot) missing(d *difference, l listing) {
	for _, path := range l.absent {
		if old := s.paths[path]; old != nil {
			s.remove(d, path, old)
		}
	}
	if !l.all && len(l.gone) == 0 {
		return
	}
	for path, old := range s.paths {
		if old.round == s.round || !l.all && !names.BelowAny(filepath.Dir(path), l.gone) {
			continue
		}
		if s.cut {
			if _, err := os.Lstat(path); err == nil {
				continue
			}
		}
		s.remove(d, path, old)
	}
}

// remove records that a path no longer exists.
func (s *snapshot) remove(d *difference, path string, old *known) {
	delete(s.paths, path)
	delete(s.always, path)
	s.drop(path)
	s.compare(d, path, old, &known{})
}

// compare adds the difference of a path.
func (s *snapshot) compare(d *difference, path string, old, now *known) {
	if old.held != now.held || old.stat.Mode != now.stat.Mode {
		s.settle(old)
		s.settle(now)
	}
	before, after := old.state(), now.state()
	if old.kind == isNode && old.held == nil && old.stat.Mode.IsRegular() &&
		nodeState(old.stat).Is == nodeState(now.stat).Is {
		switch { // it wasn't saved, so only its metadata can be compared
		case before.Mode != after.Mode:
			before.Is = after.Is
		case old.stat.Changed == now.stat.Changed:
			return
		default:
			d.lost = append(d.lost, Lost{path, old.why()})
			return
		}
	}
	switch {
	case before == after:
	case s.ownGit(path):
		d.lost = append(d.lost, Lost{path, whyGit})
	case (before.unsaved() || after.unsaved()) && before.Is != after.Is:
		d.changes = append(d.changes, Change{path, before, after})
		d.lost = append(d.lost, Lost{path, cmp.Or(old.why(), now.why())})
	default:
		d.changes = append(d.changes, Change{path, before, after})
	}
}

// finish separates what can't be restored: what isn't saved can only be moved back.
func (d *difference) finish(s *snapshot, first bool) {
	left, came := map[string]bool{}, map[string]bool{} // nodes
	for _, c := range d.changes {
		if c.Before.Is != c.After.Is {
			left[c.Before.Is], came[c.After.Is] = c.Before.isNode(), c.After.isNode()
		}
	}
	found := map[string]bool{}
	d.changes = slices.DeleteFunc(d.changes, func(c Change) bool {
		moved := (c.Before.Is == "" || came[c.Before.Is]) && (c.After.Is == "" || left[c.After.Is])
		if unsaved := c.Before.unsaved() || c.After.unsaved(); unsaved && !moved && c.Before.Is != c.After.Is {
			d.unsaved = append(d.unsaved, c)
			return true
		}
		found[c.Path] = true
		return false
	})
	git := map[string]bool{}
	d.lost = slices.DeleteFunc(d.lost, func(l Lost) bool {
		if l.Why == whyGit {
			git[s.gitOf(l.Path)] = true
		}
		return found[l.Path] || l.Why == whyGit
	})
	for path := range git { // one line for all of it
		d.lost = append(d.lost, Lost{path, whyGit})
	}
	if s.cut && !first {
		for _, root := range s.roots {
			d.lost = append(d.lost, Lost{root,
				fmt.Sprintf("over %d files and directories: changes of the others aren't known", s.entries())})
		}
	}
	sort.Slice(d.changes, func(i, j int) bool { return d.changes[i].Path < d.changes[j].Path })
	sort.Slice(d.lost, func(i, j int) bool { return d.lost[i].Path < d.lost[j].Path })
}

const (
	sep        = string(filepath.Separator)
	whyIgnored = "an ignored directory"
	whyUnread  = "can't be read"
	whyMany    = "too many files (undo.maxFiles)"
	whyGit     = "undo doesn't restore the repository of the workspace"
)

// gitOf returns the .git directory of a root that a path is in; "": none. Other repositories are restored.
func (s *snapshot) gitOf(path string) string {
	for _, root := range s.roots {
		if git := filepath.Join(root, ".git"); names.Below(path, git) {
			return git
		}
	}
	return ""
}

func (s *snapshot) ownGit(path string) bool { return s.gitOf(path) != "" }

// entered reports whether a directory is entered, if it doesn't depend on ignore rules.
func (s *snapshot) entered(path string) (enter, known bool) {
	if k, ok := s.paths[path]; ok && (k.shut || k.kind == isEntered) {
		return !k.shut, true
	}
	if s.ownGit(path) {
		name := filepath.Base(path)
		return name != "objects" && name != "lfs", true // their content never changes, and is large
	}
	return true, strings.Contains(path+sep, sep+".git"+sep)
}

// entries returns how many paths are compared.
func (s *snapshot) entries() int { return cmp.Or(s.limits.Entries, 2_000_000) }

// list returns everything in the workspace.
func (s *snapshot) list(ctx context.Context) ([]search.Node, error) {
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
	req := search.TreeRequest{Paths: roots, Skip: s.skip, Limit: s.entries(), Known: s.entered}
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
			nodes = append(nodes, search.Node{
				Path: path, Shut: k.shut && info.IsDir(), Stat: search.StatOf(info).Lasting(),
			})
		}
	}
	return nodes
}

// read reads the state of the nodes, and saves the contents of files.
func (s *snapshot) read(ctx context.Context, nodes []search.Node) ([]known, error) {
	out := make([]known, len(nodes))
	s.budget(nodes)
	s.index(nodes)
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
		sort.Slice(nodes, func(i, j int) bool {
			if a, b := nodes[i].Stat.Size, nodes[j].Stat.Size; a != b {
				return a < b
			}
			return nodes[i].Path < nodes[j].Path
		})
	}
}

// readNode reads one path. Only a failure of the store is an error.
func (s *snapshot) readNode(n search.Node, b *batch) (known, error) {
	k := known{stat: n.Stat, shut: n.Shut, kind: isNode}
	switch {
	case n.Shut:
		k.text = whyIgnored
		if len(n.Path) >= search.MaxPath {
			k.text = "too deep"
		}
		return k, nil
	case n.Stat.Mode.IsDir():
		k.kind = isEntered
		return k, nil
	case n.Stat.Mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(n.Path)
		switch {
		case gone(err):
			return known{racy: true}, nil
		case err != nil:
			k.racy, k.text = true, err.Error()
		default:
			k.kind, k.text = isLink, target
		}
		return k, nil
	case !n.Stat.Mode.IsRegular():
		k.kind, k.text = isOther, nofollow.Kind(n.Stat.Mode)
		return k, nil
	case s.ownGit(n.Path):
		k.text = whyGit
		return k, nil
	case s.omits(n):
		k.text = whyMany
		return k, nil
	case n.Stat.Size > packed:
		s.readLarge(n, &k)
		return k, nil
	}
	if k.text = s.reserve(n.Stat.Size); k.text != "" {
		return k, nil
	}
	h, err := readSmall(n.Path, n.Stat.Size, s.limits.FileBytes, b)
	switch {
	case isStore(err):
		return k, err
	case gone(err): // since it was listed
		s.saved.Add(-n.Stat.Size)
		return known{racy: true}, nil
	case err != nil:
		k.text, k.racy = whyUnread, true
		return k, nil
	}
	if !b.fresh {
		s.saved.Add(-n.Stat.Size)
	}
	k.kind, k.sum = isFile, &h
	return k, nil
}

// reserve counts a file that is copied; it returns why it can't be.
func (s *snapshot) reserve(n int64) (why string) {
	if n > s.limits.FileBytes {
		return "over " + humanize.Bytes(s.limits.FileBytes)
	}
	if s.saved.Add(n) > s.limits.Bytes {
		s.saved.Add(-n)
		return fmt.Sprintf("files over %s in all", humanize.Bytes(s.limits.Bytes))
	}
	return ""
}

// readLarge saves a large file, unless it is saved already.
func (s *snapshot) readLarge(n search.Node, k *known) {
	is := nodeState(n.Stat).Is
	old := cmp.Or(s.paths[n.Path], s.large[is])
	if old != nil && (old.held != nil || old.kind == isFile) && nodeState(old.stat).Is == is {
		was, err := old.hash(s.store) // its times may have been set back
		now, err2 := s.store.hashOf(n.Path)
		if err == nil && err2 == nil && was == now {
			if k.held = old.held; k.held == nil {
				k.kind, k.sum = isFile, old.sum
			}
			return
		}
	}
	f, err := nofollow.Open(n.Path)
	if gone(err) {
		*k = known{racy: true}
		return
	}
	if err != nil {
		k.text, k.racy = whyUnread, true
		return
	}
	defer f.Close()
	limit := n.Stat.Size + packed // it may grow meanwhile
	if k.text = s.reserve(n.Stat.Size); k.text != "" {
		limit = -1 // only a clone
	}
	copied, cloned, err := s.store.hold(f, limit)
	if k.text == "" && (cloned || err != nil) {
		s.saved.Add(-n.Stat.Size)
	}
	if err != nil {
		k.text = cmp.Or(k.text, err.Error())
		return
	}
	k.text, k.held = "", &held{path: copied}
	if !cloned {
		k.held.size = n.Stat.Size
	}
}
