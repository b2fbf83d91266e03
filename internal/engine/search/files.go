package search

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Order is the order of files.
type Order int

const (
	Newest Order = iota // by modification time, the latest first, withheld files last; then by path
	ByPath
)

// FilesRequest is a search for files by name.
type FilesRequest struct {
	Scope // the Paths must be directories
	// Pattern matches paths relative to the directory that a walk begins in, or absolute ones below it: "*", "?",
	// classes, braces, and "**" for any number of directories. It also matches a name with such characters literally.
	// Empty matches all.
	Pattern string
	// Case is the case sensitivity of Pattern; Smart is Insensitive here.
	Case Case
	// Order sorts before Offset and Limit are applied, so that the newest of all files come first.
	Order         Order
	Limit, Offset int
}

// FilesResult is the result of Files.
type FilesResult struct {
	Files []Found
	Total int // all matching files, including those beyond the limit
	Summary
}

// Found is a file.
type Found struct {
	Path    string
	ModTime time.Time // only set with Newest, and not for withheld files; of a link, its own
}

// Files lists files. Links to files are listed; links to directories are neither listed nor followed.
func Files(ctx context.Context, req FilesRequest) (*FilesResult, error) {
	res := &FilesResult{}
	f, err := newFilter(req.Globs, req.Types)
	if err != nil {
		return res, err
	}
	if req.Pattern != "" {
		g, err := newGlob(req.relative(), false, req.Case != Sensitive)
		if err != nil {
			return res, err
		}
		f.whole = g
	}
	timed, cancel := ctx, context.CancelFunc(func() {})
	if req.Timeout > 0 {
		timed, cancel = context.WithTimeout(ctx, req.Timeout)
	}
	defer cancel()
	w := newWalk(&req.Scope, f)
	w.links = true
	var mu sync.Mutex
	var listers []*lister
	err = w.run(timed, &res.Summary, func(s *Summary) visitor {
		l := &lister{req: &req, sum: s}
		mu.Lock()
		listers = append(listers, l)
		mu.Unlock()
		return l
	})
	if err != nil {
		return res, err
	}
	for _, l := range listers {
		res.Files = req.merge(res.Files, l.heap)
		res.Total += l.total
	}
	res.Files = res.Files[min(req.Offset, len(res.Files)):]
	if req.Limit > 0 {
		res.Files = slices.Clip(res.Files[:min(req.Limit, len(res.Files))])
	}
	return res, res.conclude(ctx, timed, w.stop.Load())
}

// relative turns an absolute pattern into one relative to the directory it is in.
func (r *FilesRequest) relative() string {
	pattern := filepath.ToSlash(r.Pattern)
	for _, p := range r.Paths {
		if rest, ok := strings.CutPrefix(pattern, slashed(p)+"/"); ok {
			return rest
		}
	}
	return pattern
}

// compare orders files as requested.
func (r *FilesRequest) compare(a, b Found) int {
	if r.Order == Newest {
		if c := b.ModTime.Compare(a.ModTime); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Path, b.Path)
}

// merge joins two sorted lists.
func (r *FilesRequest) merge(a, b []Found) []Found {
	if len(a) == 0 {
		return b
	}
	out := make([]Found, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if r.compare(a[0], b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// lister keeps the best files of one worker, the worst of them on top of a heap.
type lister struct {
	req   *FilesRequest
	sum   *Summary
	heap  []Found
	total int
}

func (l *lister) visit(at *openDir, name []byte, k kind) {
	var f Found
	if k == link {
		if kd, _, err := at.handle.stat(name, true); err != nil || kd != regular {
			return
		}
	}
	if l.req.Order == Newest && !at.withholds(name) {
		_, mod, err := at.handle.stat(name, false)
		if err != nil {
			l.sum.problem(at.file(name), err)
			return
		}
		f.ModTime = mod
	}
	l.total++
	most := l.req.Offset + l.req.Limit
	if l.req.Limit == 0 {
		f.Path = at.file(name)
		l.heap = append(l.heap, f)
		return
	}
	if len(l.heap) == most && l.req.Order == Newest && f.ModTime.Before(l.heap[0].ModTime) {
		return
	}
	f.Path = at.file(name)
	if len(l.heap) < most {
		l.heap = append(l.heap, f)
		l.up(len(l.heap) - 1)
	} else if l.req.compare(f, l.heap[0]) < 0 {
		l.heap[0] = f
		l.down(0)
	}
}

// done sorts in each worker, in parallel.
func (l *lister) done() { slices.SortFunc(l.heap, l.req.compare) }

func (l *lister) named(path string) error {
	return fmt.Errorf("list files of %s: not a directory. Use the directory that the file is in", path)
}

func (l *lister) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if l.req.compare(l.heap[parent], l.heap[i]) >= 0 {
			return
		}
		l.heap[parent], l.heap[i] = l.heap[i], l.heap[parent]
		i = parent
	}
}

func (l *lister) down(i int) {
	for {
		worst := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(l.heap) && l.req.compare(l.heap[child], l.heap[worst]) > 0 {
				worst = child
			}
		}
		if worst == i {
			return
		}
		l.heap[i], l.heap[worst] = l.heap[worst], l.heap[i]
		i = worst
	}
}
