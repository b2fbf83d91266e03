// Package files completes the names of files and resources in a prompt.
package files

import (
	"cmp"
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

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/tui"
	"github.com/adze-dev/adze/internal/engine/search"
)

const (
	// freshFor is how long a list of files is used before it is made again. One that took long is used longer: walks
	// take a twentieth of the time at most, and typing is rarely interrupted by one.
	freshFor = 3 * time.Second
	restFor  = 20
	// maxFiles is how many files can be completed.
	maxFiles = 200_000
	// maxMatches is how many completions are offered.
	maxMatches = 50
	// firstLook is how long the first list takes: the files that were found until then.
	firstLook = 5 * time.Millisecond
	// longestWalk is how long the whole list may take.
	longestWalk = 2 * time.Second
)

// List is the files of a directory, for completion.
type List struct {
	root  string
	limit int
	now   func() time.Time

	mu    sync.Mutex
	list  *fileNames    // the last one; nil: none yet
	fresh time.Time     // until when it is used; zero: it is what was found at a first look
	walk  chan struct{} // closed when the list that is being made is complete; nil: none is
}

// New returns the list of the files in a directory.
func New(root string) *List {
	return &List{root: root, limit: maxFiles, now: time.Now}
}

// Complete shows the files that match a pattern: at once those that are known, and again if a newer list has others.
func (l *List) Complete(ctx context.Context, pattern string, show func([]tui.Candidate)) {
	list := l.known()
	if list == nil { // alone: the walk would take the processors
		list = l.look(ctx)
	}
	first := list.match(pattern)
	show(first)
	if walk := l.begin(ctx); walk != nil {
		select {
		case <-walk:
		case <-ctx.Done():
			return
		}
	}
	newest := l.known() // a walk for another key may have ended before this key was shown
	if newest == nil || newest == list {
		return
	}
	if again := newest.match(pattern); !slices.Equal(again, first) {
		show(again)
	}
}

// look makes a list of what is found at a first look. Keys that are typed during the walk use it.
func (l *List) look(ctx context.Context) *fileNames {
	began := l.now()
	list, whole := l.make(ctx, firstLook)
	if !whole {
		list.note = "listing files …"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.list != nil: // another key was faster
		return l.list
	case ctx.Err() != nil: // this one is of no interest anymore
		return list
	}
	l.list = list
	if whole {
		l.fresh = l.until(began)
	}
	return list
}

// until is how long a list is used that was begun at a time.
func (l *List) until(began time.Time) time.Time {
	now := l.now()
	return now.Add(max(freshFor, restFor*now.Sub(began)))
}

// known is the last list; nil: none yet.
func (l *List) known() *fileNames {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list
}

// begin starts the walk that makes a newer list. It returns nil if the last one is fresh.
func (l *List) begin(ctx context.Context) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now().Before(l.fresh) {
		return nil
	}
	if l.walk == nil {
		walk := make(chan struct{})
		l.walk = walk
		go func() {
			began := l.now()
			list, _ := l.make(context.WithoutCancel(ctx), longestWalk) // other keys wait for it too
			l.mu.Lock()
			defer l.mu.Unlock()
			l.list, l.fresh, l.walk = list, l.until(began), nil
			close(walk)
		}()
	}
	return l.walk
}

// make lists the files that are found within a time, and reports whether these are all.
func (l *List) make(ctx context.Context, within time.Duration) (_ *fileNames, whole bool) {
	workers := 0
	if within > firstLook { // in the background: keys are more important
		workers = max(1, runtime.NumCPU()/2)
	}
	res, err := search.Files(ctx, search.FilesRequest{
		Scope: search.Scope{Paths: []string{l.root}, Timeout: within, Workers: workers}, Order: search.ByPath,
		Limit: l.limit,
	})
	out := newFileNames(len(res.Files))
	if err != nil {
		out.note = "can't list files: " + err.Error()
	}
	prefix := l.root + string(filepath.Separator)
	for _, f := range res.Files {
		if path, ok := strings.CutPrefix(f.Path, prefix); ok && typeable(path) {
			out.add(filepath.ToSlash(path))
		}
	}
	switch {
	case res.Incomplete == search.TimedOut:
		out.note = fmt.Sprintf("there are more files: this is what was found in %d s", int(within.Seconds()))
	case res.Total > len(res.Files):
		out.note = fmt.Sprintf("%d of %d files: type a path to name others", len(res.Files), res.Total)
	}
	return out, err == nil && res.Incomplete == search.Complete
}

// typeable reports whether a path can be part of a prompt: it has no control characters and is UTF-8.
func typeable(path string) bool {
	return utf8.ValidString(path) && strings.IndexFunc(path, unicode.IsControl) < 0
}

// maxResources is how many resources are offered beside files.
const maxResources = 5

// Resources are the resources whose server, name or URI contains what was typed. first are those that start with
// it: the user types the name of a server. Without anything typed, files are what is looked for.
func Resources(all []discover.Resource, typed string) (first, rest []tui.Candidate) {
	typed = strings.ToLower(typed)
	for _, r := range all {
		word := r.Server + ":" + r.URI
		if typed == "" || !typeable(word) || strings.Contains(word, " ") {
			continue
		}
		c := tui.Candidate{Text: "@" + word, About: cmp.Or(r.Title, r.Description, r.Name)}
		lower := strings.ToLower(word)
		switch {
		case strings.HasPrefix(lower, typed) && len(first) < maxResources:
			first = append(first, c)
		case strings.Contains(lower+"\n"+strings.ToLower(r.Name), typed) && len(rest) < maxResources:
			rest = append(rest, c)
		}
	}
	return first, rest
}
