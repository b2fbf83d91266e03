package files

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/internal/app/tui"
)

// slowMatch is match, one path after the other and without anything from the pattern before.
func slowMatch(paths []string, pattern string) []string {
	pattern = strings.ToLower(pattern)
	type found struct {
		path  string
		score int
	}
	var all []found
	for _, path := range paths {
		lower := strings.ToLower(path)
		at, gaps, ok := 0, 0, true
		for i := range len(pattern) {
			n := strings.IndexByte(lower[at:], pattern[i])
			if ok = n >= 0; !ok {
				break
			}
			if at += n + 1; n > 0 {
				gaps++
			}
		}
		score := 2000 + gaps*100
		switch {
		case !ok:
			continue
		case pattern == "":
			score = strings.Count(path, "/") * 100
		case strings.HasPrefix(lower[strings.LastIndex(lower, "/")+1:], pattern):
			score = 0
		case strings.HasPrefix(lower, pattern):
			score = 200
		case strings.Contains(lower, pattern):
			score = 1000
		}
		all = append(all, found{path, score + len(path)})
	}
	slices.SortFunc(all, func(a, b found) int {
		if a.score != b.score {
			return a.score - b.score
		}
		return strings.Compare(a.path, b.path)
	})
	var out []string
	for _, f := range all[:min(len(all), maxMatches)] {
		out = append(out, "@"+f.path)
	}
	return out
}

// Keys that continue a pattern, keys that shorten it and lists that are matched in parts find what a search of all
// paths finds.
func TestMatchAsAllPathsOneByOne(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var paths []string
	list := newFileNames(0)
	for i := range fewNames + 1000 {
		var b strings.Builder
		for range 1 + r.IntN(12) {
			b.WriteString([]string{"a", "b", "C", "ab", "/", "é", "İ", "."}[r.IntN(8)])
		}
		fmt.Fprintf(&b, "%d", i)
		paths = append(paths, b.String())
		list.add(b.String())
	}
	pattern := ""
	for range 60 {
		if pattern != "" && r.IntN(4) == 0 {
			pattern = pattern[:r.IntN(len(pattern))]
		} else {
			pattern += []string{"a", "b", "c", "/", "1", "ba"}[r.IntN(6)]
		}
		var got []string
		for _, c := range list.match(pattern) {
			got = append(got, c.Text)
		}
		if want := slowMatch(paths, pattern); !slices.Equal(got, want) {
			t.Fatalf("%q:\n%q\nexpected:\n%q", pattern, got, want)
		}
	}
}

// A key is compared with what matched before it, not with all files.
func TestMatchContinues(t *testing.T) {
	t.Parallel()
	list := newFileNames(0)
	for i := range 1000 {
		list.add(fmt.Sprintf("file%03d", i))
	}
	list.match("file12")
	if len(list.matched) >= 100 || list.last != "file12" {
		t.Fatalf("%d files match %q", len(list.matched), list.last)
	}
	list.matched = list.matched[:1]
	if got := list.match("file12"); len(got) != 1 {
		t.Errorf("all files were searched again: %v", got)
	}
}

// A path that is too long to be typed is not offered: positions in paths have 16 bits.
func TestMatchLongPath(t *testing.T) {
	t.Parallel()
	list := newFileNames(0)
	list.add(strings.Repeat("d/", 40_000) + "x")
	list.add("x")
	if got := list.match("x"); !slices.Equal(got, []tui.Candidate{{Text: "@x"}}) {
		t.Errorf("%.200v", got)
	}
}

// Keys typed during the walk use the first look: each one used to look again, 20 ms beside the walk.
func TestCompleteDuringTheWalk(t *testing.T) {
	t.Parallel()
	l := filesIn(t, maxFiles, "a")
	l.list, l.walk = newFileNames(1), make(chan struct{}) // a first look that found another file
	l.list.add("b")
	go func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.list = newFileNames(1)
		l.list.add("b")
		l.list.add("c")
		close(l.walk)
	}()
	var shown [][]tui.Candidate
	l.Complete(t.Context(), "", func(c []tui.Candidate) { shown = append(shown, c) })
	if last := shown[len(shown)-1]; len(last) != 2 || last[0].Text != "@b" {
		t.Errorf("shown: %v", shown)
	}
}

// A walk that took long isn't repeated soon, and one that found the same files changes nothing on the screen.
func TestCompleteRests(t *testing.T) {
	t.Parallel()
	l := filesIn(t, maxFiles, "a")
	now := time.Unix(1000, 0)
	l.now = func() time.Time { return now }
	if got := l.until(now.Add(-time.Second)).Sub(now); got != restFor*time.Second {
		t.Errorf("a list that took 1 s is used for %v", got)
	}
	if got := l.until(now).Sub(now); got != freshFor {
		t.Errorf("a list that took no time is used for %v", got)
	}
	completed(t, l, "")
	now = now.Add(time.Hour)
	shown := 0
	l.Complete(t.Context(), "", func([]tui.Candidate) { shown++ })
	if shown != 1 {
		t.Errorf("the same list was shown %d times", shown)
	}
}
