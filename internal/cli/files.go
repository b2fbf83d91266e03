package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/search"
	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/internal/tui"
)

const (
	// freshFor is how long a list of files is used before it is made again.
	freshFor = 3 * time.Second
	// maxFiles is how many files can be completed.
	maxFiles = 200_000
	// maxMatches is how many completions are offered.
	maxMatches = 50
	// firstLook is how long the first list takes: the files that were found until then.
	firstLook = 10 * time.Millisecond
	// longestWalk is how long the whole list may take.
	longestWalk = 2 * time.Second
)

// fileList is the files of the workspace, for completion.
type fileList struct {
	root  string
	limit int
	now   func() time.Time

	mu   sync.Mutex
	list *fileNames    // the last one; nil: there is none
	walk chan struct{} // closed when the list that is being made is complete; nil: none is
}

// fileNames are files, relative to the workspace.
type fileNames struct {
	made  time.Time
	files []fileName
	whole bool   // the walk ended in time
	note  string // what is missing, for the user

	mu      sync.Mutex
	all     []*fileName
	last    string // pattern
	matched []*fileName
}

// fileName is a path as it is compared.
type fileName struct {
	path, lower string
	base, flat  int    // where the last element starts; the score without a pattern
	letters     uint64 // that occur
}

func newFileList(s *session.Session) *fileList {
	return &fileList{root: s.Folder.Path, limit: maxFiles, now: time.Now}
}

// complete shows the files that match a pattern: at once those that are known, and again when the list is complete.
func (l *fileList) complete(ctx context.Context, pattern string, show func([]tui.Candidate)) {
	list := l.known()
	if list == nil { // alone: the walk would take the processors
		list = l.make(ctx, firstLook)
		if list.whole {
			l.keep(list)
		} else {
			list.note = "listing files …"
		}
	}
	show(list.match(pattern))
	walk := l.begin(ctx)
	if walk == nil {
		return
	}
	select {
	case <-walk:
		show(l.known().match(pattern))
	case <-ctx.Done():
	}
}

// known is the last list; nil: there is none.
func (l *fileList) known() *fileNames {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list
}

func (l *fileList) keep(list *fileNames) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = list
}

// begin starts the walk that makes a newer list. It returns nil if the last one is fresh.
func (l *fileList) begin(ctx context.Context) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list != nil && l.now().Sub(l.list.made) < freshFor {
		return nil
	}
	if l.walk == nil {
		walk := make(chan struct{})
		l.walk = walk
		go func() {
			list := l.make(context.WithoutCancel(ctx), longestWalk) // other keys wait for it too
			l.mu.Lock()
			defer l.mu.Unlock()
			l.list, l.walk = list, nil
			close(walk)
		}()
	}
	return l.walk
}

// make lists the files that are found within a time.
func (l *fileList) make(ctx context.Context, within time.Duration) *fileNames {
	workers := 0
	if within > firstLook { // in the background: keys are more important
		workers = max(1, runtime.NumCPU()/2)
	}
	res, err := search.Files(ctx, search.FilesRequest{
		Scope: search.Scope{Paths: []string{l.root}, Timeout: within, Workers: workers}, Order: search.ByPath, Limit: l.limit,
	})
	out := &fileNames{made: l.now(), whole: err == nil && res.Incomplete == ""}
	if err != nil {
		out.note = "can't list files: " + err.Error()
	}
	prefix := l.root + string(filepath.Separator)
	out.files = make([]fileName, 0, len(res.Files))
	for _, f := range res.Files {
		if path, ok := strings.CutPrefix(f.Path, prefix); ok && typeable(path) {
			out.files = append(out.files, newFileName(filepath.ToSlash(path)))
		}
	}
	switch {
	case res.Incomplete == search.TimedOut:
		out.note = fmt.Sprintf("there are more files: this is what was found in %d s", int(within.Seconds()))
	case res.Total > len(res.Files):
		out.note = fmt.Sprintf("%d of %d files: type a path to name others", len(res.Files), res.Total)
	}
	return out
}

// typeable reports whether a path can be part of a prompt: it has no control characters and is UTF-8.
func typeable(path string) bool {
	return utf8.ValidString(path) && strings.IndexFunc(path, unicode.IsControl) < 0
}

func newFileName(path string) fileName {
	lower := strings.ToLower(path)
	return fileName{path, lower, strings.LastIndexByte(lower, '/') + 1, strings.Count(path, "/")*100 + len(path), lettersOf(lower)}
}

// lettersOf is the set of characters in a text. Some share a bit.
func lettersOf(s string) (set uint64) {
	for i := range len(s) {
		set |= 1 << (s[i] & 63)
	}
	return set
}

// match returns the files whose path contains the characters of a pattern in order, best first.
func (l *fileNames) match(pattern string) []tui.Candidate {
	type scored struct {
		name  string
		score int
	}
	better := func(a, b scored) int {
		if a.score != b.score {
			return a.score - b.score
		}
		return strings.Compare(a.name, b.name)
	}
	pattern = strings.ReplaceAll(strings.ToLower(pattern), `\ `, " ")
	letters := lettersOf(pattern)
	best := make([]scored, 0, maxMatches+1)
	var matched []*fileName
	for _, f := range l.among(pattern) {
		if f.letters&letters != letters {
			continue
		}
		score, ok := f.score(pattern)
		if !ok {
			continue
		}
		matched = append(matched, f)
		this := scored{f.path, score}
		if len(best) == maxMatches && better(this, best[maxMatches-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, this, better)
		best = slices.Insert(best, at, this)
		best = best[:min(len(best), maxMatches)]
	}
	l.remember(pattern, matched)
	out := make([]tui.Candidate, 0, len(best)+1)
	for _, f := range best {
		out = append(out, tui.Candidate{Text: "@" + quotedPath(f.name)})
	}
	if l.note != "" {
		out = append(out, tui.Candidate{About: l.note})
	}
	return out
}

// among are the files that can match a pattern: those that matched its start.
func (l *fileNames) among(pattern string) []*fileName {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != "" && strings.HasPrefix(pattern, l.last) {
		return l.matched
	}
	if l.all == nil {
		l.all = make([]*fileName, len(l.files))
		for i := range l.files {
			l.all[i] = &l.files[i]
		}
	}
	return l.all
}

// remember keeps what matched for the next key.
func (l *fileNames) remember(pattern string, matched []*fileName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.matched = pattern, matched
}

// quotedPath escapes the spaces of a path, as @ paths are written.
func quotedPath(path string) string { return strings.ReplaceAll(path, " ", `\ `) }

// score reports whether a path contains the characters of a pattern in order, case-insensitive. A lower score is better:
// few gaps, late in the path, a short path.
func (f *fileName) score(pattern string) (int, bool) {
	if pattern == "" {
		return f.flat, true
	}
	switch {
	case strings.HasPrefix(f.lower[f.base:], pattern):
		return len(f.path), true
	case strings.HasPrefix(f.lower, pattern):
		return 200 + len(f.path), true
	case strings.Contains(f.lower, pattern):
		return 1000 + len(f.path), true
	}
	at, gaps := 0, 0
	for i := range len(pattern) {
		n := strings.IndexByte(f.lower[at:], pattern[i])
		if n < 0 {
			return 0, false
		}
		if n > 0 {
			gaps++
		}
		at += n + 1
	}
	return 2000 + gaps*100 + len(f.path), true
}
