package search

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/adze-dev/adze/internal/ignore"
)

// TreeRequest asks for everything below directories.
type TreeRequest struct {
	Paths []string // absolute directories
	// Known says of a directory that was seen before whether it is entered, so that a changed ignore file makes nothing
	// appear or disappear; nil: none was.
	Known   func(path string) (enter, known bool)
	Skip    []string // absolute paths that are not visited
	Limit   int      // entries after which the walk stops; 0: none
	Workers int      // as in Scope
}

// Node is a file, a directory or a link.
type Node struct {
	Path string
	Shut bool // a directory that was not entered: git ignores it, or it is ".git"
	Stat Stat
}

// Stat is what tells that a file has changed without reading it.
type Stat struct {
	Mode              fs.FileMode
	Size              int64
	Modified, Changed int64 // nanoseconds; Changed is 0 where the system does not say
	Inode             uint64
}

// Lasting is the Stat without what changes when a device, a socket or a pipe is used.
func (s Stat) Lasting() Stat {
	if s.Mode.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 {
		return Stat{Mode: s.Mode, Inode: s.Inode}
	}
	return s
}

// TreeResult is what is there.
type TreeResult struct {
	Nodes []Node // in no order
	Summary
}

// Tree lists all entries below directories: hidden and ignored files, links and empty directories too. Directories that git
// ignores, and ".git", are listed and not entered. AI ignore files don't apply: nothing is read.
func Tree(ctx context.Context, req TreeRequest) (*TreeResult, error) {
	res := &TreeResult{}
	w := newWalk(&Scope{Paths: req.Paths, Workers: req.Workers}, &filter{})
	w.links, w.whole, w.heavy, w.tree = true, true, true, &req
	var mu sync.Mutex
	var all []*gatherer
	var count atomic.Int64
	err := w.run(ctx, &res.Summary, func(s *Summary) visitor {
		g := &gatherer{walk: w, sum: s, count: &count, limit: int64(req.Limit)}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, g)
		return g
	})
	if err != nil {
		return res, err
	}
	n := 0
	for _, g := range all {
		n += len(g.nodes)
	}
	res.Nodes = make([]Node, 0, n)
	for _, g := range all {
		res.Nodes = append(res.Nodes, g.nodes...)
	}
	return res, res.conclude(ctx, ctx, w.stop.Load())
}

// gatherer notes what one worker came across.
type gatherer struct {
	walk  *walk
	sum   *Summary
	nodes []Node
	count *atomic.Int64
	limit int64
}

func (g *gatherer) visit(at *spot, name []byte, k kind) {
	st, err := at.folder.describe(name)
	if err != nil {
		return // gone meanwhile
	}
	g.nodes = append(g.nodes, Node{Path: at.file(name), Shut: k == shut, Stat: st.Lasting()})
	if g.limit > 0 && g.count.Add(1) >= g.limit {
		g.walk.quit()
	}
}

func (g *gatherer) done() {}

func (g *gatherer) named(path string) error {
	return fmt.Errorf("list %s: not a directory", path)
}

// whole is an entry as Tree lists it; false if it isn't listed.
func (k *worker) whole(at *spot, e entry, name string) (entry, bool) {
	if k.skipped(at, name) {
		return e, false
	}
	if name == ".git" || e.kind == directory && !k.enters(at, name) {
		e.kind = shut
	}
	return e, true
}

// enters reports whether Tree visits what is in a directory.
func (k *worker) enters(at *spot, name string) bool {
	if name == ".git" || k.skipped(at, name) {
		return false
	}
	if k.walk.named != nil && k.walk.named[at.path()+"/"+name] {
		return false
	}
	if k.walk.tree.Known != nil {
		if enter, known := k.walk.tree.Known(at.file([]byte(name))); known {
			return enter
		}
	}
	return !at.rules.Hidden(name, ignore.Folder)
}

func (k *worker) skipped(at *spot, name string) bool {
	for _, path := range k.walk.tree.Skip {
		if strings.HasSuffix(path, name) && filepath.Base(path) == name && at.file([]byte(name)) == path {
			return true
		}
	}
	return false
}
