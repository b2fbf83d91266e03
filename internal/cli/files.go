package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

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
)

// fileList is the files of the workspace, for completion.
type fileList struct {
	root string

	mu    sync.Mutex
	made  time.Time
	names []string // relative
}

func newFileList(s *session.Session) *fileList { return &fileList{root: s.Folder.Path} }

// match returns the files whose path contains the characters of a pattern in order, best first.
func (l *fileList) match(ctx context.Context, pattern string) []tui.Candidate {
	type scored struct {
		name  string
		score int
	}
	var found []scored
	for _, name := range l.all(ctx) {
		if score, ok := fuzzy(name, pattern); ok {
			found = append(found, scored{name, score})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		if a.score != b.score {
			return a.score - b.score
		}
		return strings.Compare(a.name, b.name)
	})
	var out []tui.Candidate
	for _, f := range found[:min(len(found), maxMatches)] {
		out = append(out, tui.Candidate{Text: "@" + quotedPath(f.name)})
	}
	return out
}

// quotedPath escapes the spaces of a path, as @ paths are written.
func quotedPath(path string) string { return strings.ReplaceAll(path, " ", `\ `) }

func (l *fileList) all(ctx context.Context) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.made) < freshFor {
		return l.names
	}
	res, err := search.Files(ctx, search.FilesRequest{Scope: search.Scope{Paths: []string{l.root}, Timeout: 2 * time.Second}, Limit: maxFiles})
	if err != nil {
		return l.names
	}
	l.names = l.names[:0]
	for _, f := range res.Files {
		if rel, err := filepath.Rel(l.root, f.Path); err == nil {
			l.names = append(l.names, filepath.ToSlash(rel))
		}
	}
	l.made = time.Now()
	return l.names
}

// fuzzy reports whether a name contains the characters of a pattern in order, case-insensitive. A lower score is better:
// few gaps, late in the path, a short path.
func fuzzy(name, pattern string) (int, bool) {
	if pattern == "" {
		return strings.Count(name, "/")*100 + len(name), true
	}
	lower, pattern := strings.ToLower(name), strings.ToLower(pattern)
	base := strings.LastIndexByte(lower, '/') + 1
	switch {
	case strings.HasPrefix(lower[base:], pattern):
		return len(name), true
	case strings.HasPrefix(lower, pattern):
		return 200 + len(name), true
	case strings.Contains(lower, pattern):
		return 1000 + len(name), true
	}
	at, gaps := 0, 0
	for i := range len(pattern) {
		n := strings.IndexByte(lower[at:], pattern[i])
		if n < 0 {
			return 0, false
		}
		if n > 0 {
			gaps++
		}
		at += n + 1
	}
	return 2000 + gaps*100 + len(name), true
}
