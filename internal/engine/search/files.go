package search

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
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
	m := &member{scope: &req.Scope, filter: f}
	m.equip = func(*walk, *member) func(*Summary) visitor {
		return func(s *Summary) visitor { return &lister{req: &req, sum: s} }
	}
	visitors, stopped, err := m.run(timed, &res.Summary)
	if err != nil {
		return res, err
	}
	for _, v := range visitors {
		l := v.(*lister)
		res.Files = req.merge(res.Files, l.best)
		res.Total += l.total
	}
	res.Files = res.Files[min(req.Offset, len(res.Files)):]
	if req.Limit > 0 {
		res.Files = slices.Clip(res.Files[:min(req.Limit, len(res.Files))])
	}
	return res, res.conclude(ctx, timed, stopped)
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

// lister keeps the best files of one worker.
type lister struct {
	req   *FilesRequest
	sum   *Summary
	best  []Found
	worst Found // what is after it is beyond the limit; without a path: not known yet
	total int
}

func (l *lister) visit(v *visited) {
	var f Found
	if v.kind == link {
		if kd, _, err := v.at.handle.stat(v.name, true); err != nil || kd != regular {
			return
		}
	}
	if l.req.Order == Newest && !v.withheld {
		_, mod, err := v.at.handle.stat(v.name, false)
		if err != nil {
			l.sum.problem(v.path(), err)
			return
		}
		f.ModTime = mod
	}
	l.total++
	if f.ModTime.Before(l.worst.ModTime) {
		return // its path isn't needed
	}
	if f.Path = v.path(); l.worst.Path != "" && l.req.compare(f, l.worst) > 0 {
		return
	}
	l.best = append(l.best, f)
	if l.req.Limit > 0 && len(l.best) > 2*(l.req.Offset+l.req.Limit)+64 {
		l.done()
	}
}

// done sorts, in each worker in parallel, and drops what is beyond the limit.
func (l *lister) done() {
	slices.SortFunc(l.best, l.req.compare)
	if limit := l.req.Offset + l.req.Limit; l.req.Limit > 0 && len(l.best) > limit {
		clear(l.best[limit:])
		l.best, l.worst = l.best[:limit], l.best[limit-1]
	}
}

func (l *lister) named(path string) error {
	return fmt.Errorf("list files of %s: not a directory. Use the directory that the file is in", path)
}
