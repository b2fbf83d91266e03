package search

import (
	"context"
	"errors"
	"sort"
	"sync"
	"sync/atomic"
)

// Mode is what a search returns for each file.
type Mode int

const (
	Content Mode = iota // the lines, and their number
	Paths               // only whether it matches: the search of a file ends at its first match
	Counts              // the number of matching lines
)

// GrepRequest is a search for lines.
type GrepRequest struct {
	Scope
	Pattern *Pattern
	Mode    Mode
	// Before and After are the lines of context shown around a match.
	Before, After int
	// Limit is the maximum number of results after skipping Offset, in the order of paths: matching lines in Content,
	// files in the other modes. 0: no limit. Totals count all results.
	Limit, Offset int
	// MaxLine is the maximum length of a line in bytes, cut around the match; 0 is maxShownLine.
	MaxLine int
	// Enough stops the search after that many matches, in any order; totals are then a lower bound.
	Enough int
}

// GrepResult is the result of Grep.
type GrepResult struct {
	Files        []FileMatches // sorted by path, after Offset and Limit
	Matches      int           // matching lines in all files; files in Paths mode
	MatchedFiles int
	Binary       int // binary files with matches, which are not reported
	Summary
}

// FileMatches is the result for one file.
type FileMatches struct {
	Path     string
	Count    int    // matching lines, with Multiline all lines of matches; 1 in Paths mode
	Lines    []Line // in Content mode, matches and context in order
	Binary   bool   // a named binary file with matches: it has no lines
	Encoding string // "utf-16le" or "utf-16be" if it was decoded, otherwise empty
}

// Line is a line to show.
type Line struct {
	Number int    // 1-based
	Text   string // without its newline; it may be invalid UTF-8
	Match  bool   // false for context
	Cut    bool   // Text is only part of a long line, around the match
	Offset int    // bytes of the line before Text
}

// Range is a run of lines, both ends included.
type Range struct{ First, Last int }

// Shown returns the ranges of lines that are shown completely, so that they count as read.
func (f *FileMatches) Shown() []Range {
	var rs []Range
	for _, l := range f.Lines {
		if l.Cut {
			continue
		}
		if n := len(rs); n > 0 && rs[n-1].Last+1 >= l.Number {
			rs[n-1].Last = max(rs[n-1].Last, l.Number)
			continue
		}
		rs = append(rs, Range{l.Number, l.Number})
	}
	return rs
}

// maxShownLine is the default of GrepRequest.MaxLine.
const maxShownLine = 500

var errNoPattern = errors.New("search: no pattern given")

// Grep searches. It returns an error for an invalid request or a canceled context, with the results until then.
func Grep(ctx context.Context, req GrepRequest) (*GrepResult, error) {
	res := &GrepResult{}
	if req.Pattern == nil {
		return res, errNoPattern
	}
	f, err := newFilter(req.Globs, req.Types)
	if err != nil {
		return res, err
	}
	if req.MaxLine <= 0 {
		req.MaxLine = maxShownLine
	}
	timed, cancel := ctx, context.CancelFunc(func() {})
	if req.Timeout > 0 {
		timed, cancel = context.WithTimeout(ctx, req.Timeout)
	}
	defer cancel()
	m := &member{scope: &req.Scope, filter: f, reads: true}
	m.equip = func(w *walk, m *member) func(*Summary) visitor {
		c := &collector{req: &req, walk: w, member: m}
		return func(s *Summary) visitor { return newGrepper(c, s) }
	}
	visitors, stopped, err := m.run(timed, &res.Summary)
	if err != nil {
		return res, err
	}
	if len(visitors) > 0 {
		visitors[0].(*grepper).c.finish(res)
	}
	return res, res.conclude(ctx, timed, stopped)
}

// GrepText searches a text like a file of that name. The scope of the request doesn't count.
func GrepText(name, text string, req GrepRequest) (*GrepResult, error) {
	res := &GrepResult{}
	if req.Pattern == nil {
		return res, errNoPattern
	}
	if req.MaxLine <= 0 {
		req.MaxLine = maxShownLine
	}
	c := &collector{req: &req, walk: &walk{}, member: &member{scope: &req.Scope, over: make(chan struct{})}}
	g := newGrepper(c, &res.Summary)
	g.isNamed, g.known = true, name
	err := g.search(&content{buf: []byte(text), n: len(text), size: len(text), eof: true})
	c.finish(res)
	return res, err
}

// collector collects the results of the workers, and keeps only what will be shown.
type collector struct {
	req    *GrepRequest
	walk   *walk
	member *member

	// beyond is a path after which nothing will be shown: such files are only counted.
	beyond atomic.Pointer[string]

	mu      sync.Mutex
	files   []FileMatches
	kept    int // results among files
	matches int
	matched int
	binary  int
}

// wants reports whether the lines of a file may be shown.
func (c *collector) wants(path string) bool {
	b := c.beyond.Load()
	return b == nil || path <= *b
}

// add adds the result of one file.
func (c *collector) add(m FileMatches, keep bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.matches += m.Count
	c.matched++
	if c.req.Enough > 0 && c.matches >= c.req.Enough {
		c.member.quit()
	}
	if !keep {
		return
	}
	c.files = append(c.files, m)
	c.kept += c.weight(&m)
	if want := c.req.Offset + c.req.Limit; c.req.Limit > 0 && c.kept > 2*want+64 {
		c.shrink(want)
	}
}

func (c *collector) addBinary() {
	c.mu.Lock()
	c.binary++
	c.mu.Unlock()
}

// weight returns how much a file counts towards the limit.
func (c *collector) weight(m *FileMatches) int {
	if c.req.Mode == Content && !m.Binary {
		return m.Count
	}
	return 1
}

// shrink drops the files after the limit.
func (c *collector) shrink(want int) {
	sortByPath(c.files)
	sum := 0
	for i := range c.files {
		sum += c.weight(&c.files[i])
		if sum >= want {
			last := c.files[i].Path
			clear(c.files[i+1:])
			c.files, c.kept = c.files[:i+1], sum
			c.beyond.Store(&last)
			return
		}
	}
}

func sortByPath(files []FileMatches) {
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
}

// finish applies offset and limit and copies the totals.
func (c *collector) finish(res *GrepResult) {
	sortByPath(c.files)
	res.Files, res.Matches, res.MatchedFiles, res.Binary = c.files, c.matches, c.matched, c.binary
	skip, left := c.req.Offset, c.req.Limit
	if left == 0 {
		left = int(^uint(0) >> 1)
	}
	out := c.files[:0]
	for _, f := range c.files {
		if left == 0 {
			break
		}
		w := c.weight(&f)
		if skip >= w {
			skip -= w
			continue
		}
		if c.req.Mode == Content && !f.Binary {
			left -= f.cut(skip, left, c.req.Before, c.req.After)
		} else {
			left--
		}
		skip = 0
		out = append(out, f)
	}
	clear(c.files[len(out):])
	res.Files = out
}

// cut keeps at most limit matches after the first skip ones, with their context, and returns how many.
func (f *FileMatches) cut(skip, limit, before, after int) int {
	var kept []Line
	n := 0
	first, last := 0, 0 // line numbers of the first and last match that is kept
	for _, l := range f.Lines {
		if !l.Match {
			continue
		}
		n++
		if n == skip+1 {
			first = l.Number
		}
		if n > skip && n <= skip+limit {
			last = l.Number
		}
	}
	if skip == 0 && n <= limit {
		return n
	}
	seen := 0
	for _, l := range f.Lines {
		if l.Match {
			seen++
			if seen <= skip || seen > skip+limit {
				continue
			}
		} else if l.Number < first-before || l.Number > last+after {
			continue
		}
		kept = append(kept, l)
	}
	f.Lines = kept
	return min(n-skip, limit)
}
