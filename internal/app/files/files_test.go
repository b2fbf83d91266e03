package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/tui"
)

// filesIn makes a list of files in a new directory.
func filesIn(t *testing.T, limit int, names ...string) *List {
	t.Helper()
	dir := t.TempDir()
	for _, n := range names {
		path := filepath.Join(dir, n)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &List{root: dir, limit: limit, now: time.Now}
}

// completed are the last completions that are shown.
func completed(t *testing.T, l *List, pattern string) (texts []string, note string) {
	t.Helper()
	var last []tui.Candidate
	l.Complete(t.Context(), pattern, func(c []tui.Candidate) { last = c })
	for _, c := range last {
		if texts = append(texts, c.Text); c.Text == "" {
			texts, note = texts[:len(texts)-1], c.About
		}
	}
	return texts, note
}

func TestCompleteFiles(t *testing.T) {
	l := filesIn(t, maxFiles, "main.go", "internal/app/cli/main_test.go", "docs/Main Page.md", "lib/remain.go", "m/a/i/n.go")
	for pattern, want := range map[string][]string{
		"main":        {"@main.go", `@docs/Main\ Page.md`, "@internal/app/cli/main_test.go", "@lib/remain.go", "@m/a/i/n.go"},
		"MAIN.GO":     {"@main.go", "@lib/remain.go", "@internal/app/cli/main_test.go", "@m/a/i/n.go"},
		`main\ p`:     {`@docs/Main\ Page.md`},
		"internal/cl": {"@internal/app/cli/main_test.go"},
		"nothing":     nil,
	} {
		if got, note := completed(t, l, pattern); !slices.Equal(got, want) || note != "" {
			t.Errorf("%s: %q, %q", pattern, got, note)
		}
	}
}

// Of more files than the limit, the list says how many it has.
func TestCompleteManyFiles(t *testing.T) {
	var names []string
	for i := range 130 {
		names = append(names, fmt.Sprintf("d%d/file%d", i%7, i))
	}
	got, note := completed(t, filesIn(t, 100, names...), "file")
	if len(got) != maxMatches || note != "100 of 130 files: type a path to name others" {
		t.Errorf("%d completions, %q", len(got), note)
	}
}

// Before the list is complete, what was found until then is shown, and says so; a list that is not fresh is shown at once and
// made again.
func TestCompleteAgain(t *testing.T) {
	l := filesIn(t, maxFiles, "a", "b")
	now := time.Now()
	l.now = func() time.Time { return now }
	completed(t, l, "")
	if err := os.WriteFile(filepath.Join(l.root, "c"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ := completed(t, l, ""); len(got) != 2 {
		t.Errorf("a fresh list: %q", got)
	}
	now = now.Add(freshFor)
	var shown [][]tui.Candidate
	l.Complete(t.Context(), "", func(c []tui.Candidate) { shown = append(shown, c) })
	if len(shown) != 2 || len(shown[0]) != 2 || len(shown[1]) != 3 {
		t.Errorf("an old list: %v", shown)
	}
}

// A resource comes before files only if the name of its server is typed.
func TestMatchResources(t *testing.T) {
	all := []discover.Resource{{Server: "docs", URI: "style://go", Name: "Guide"}, {Server: "docs", URI: "a b"}, {Server: "x", URI: "docs://1\x1b"}, {Server: "notes", URI: "n://docs"}}
	for typed, want := range map[string]string{
		"": " | ", "doc": "@docs:style://go | @notes:n://docs", "DOCS:s": "@docs:style://go | ", "guide": " | @docs:style://go", "zzz": " | ",
	} {
		first, rest := Resources(all, typed)
		text := func(list []tui.Candidate) (out string) {
			for _, c := range list {
				out += c.Text
			}
			return out
		}
		if got := text(first) + " | " + text(rest); got != want {
			t.Errorf("%q: %s", typed, got)
		}
	}
}

// The walk for another key ended while this key took its first look: what that had found stayed on the screen.
func TestCompleteAfterAnothersWalk(t *testing.T) {
	l := filesIn(t, maxFiles, "file1")
	others := newFileNames(2)
	others.add("file1")
	others.add("file2")
	l.now = func() time.Time {
		l.now = time.Now
		l.list, l.fresh = others, time.Now().Add(time.Hour)
		return time.Now()
	}
	if got, _ := completed(t, l, "file"); !slices.Equal(got, []string{"@file1", "@file2"}) {
		t.Errorf("%q", got)
	}
}
