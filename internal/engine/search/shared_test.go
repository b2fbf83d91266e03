package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/internal/engine/ignore"
)

// answer is the result of a search, to be compared.
type answer struct {
	Grep  *GrepResult
	Files *FilesResult
	Err   string
}

// question is a search of a session; it has a GrepRequest or a FilesRequest.
type question struct {
	grep  *GrepRequest
	files *FilesRequest
}

func (q question) ask(ctx context.Context, shared *Shared, rules *ignore.Rules) (a answer) {
	var err error
	var s *Summary
	if q.grep != nil {
		req := *q.grep
		req.Shared, req.Rules = shared, rules
		a.Grep, err = Grep(ctx, req)
		s = &a.Grep.Summary
	} else {
		req := *q.files
		req.Shared, req.Rules = shared, rules
		a.Files, err = Files(ctx, req)
		s = &a.Files.Summary
	}
	if err != nil {
		a.Err = err.Error()
	}
	slices.SortFunc(s.Problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(s.Notes)
	return a
}

// alone is the answer of a single search with new rules.
func (q question) alone(t *testing.T, top string) answer {
	return q.ask(t.Context(), nil, ignore.New(ignore.Options{Roots: []string{top}}))
}

func differ(a, b answer) string {
	return cmp.Diff(a, b, cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) || errors.Is(b, a) }), cmpopts.EquateEmpty())
}

// randomQuestion makes a search with random options. buffer is the size of buffers, so that some files exceed it.
func randomQuestion(t *testing.T, r *rand.Rand, top string, buffer int) question {
	pick := func(from ...string) string { return from[r.Intn(len(from))] }
	scope := Scope{Paths: []string{top}, NoIgnore: r.Intn(3) == 0, SkipHidden: r.Intn(3) == 0, buffer: buffer, Workers: 2}
	if r.Intn(2) == 0 {
		scope.Globs = []string{pick("*.go", "!*.go", "d1/**", "**/d2/*", "!d0")}
	}
	if r.Intn(2) == 0 {
		closed := pick("d0", "d1", "none")
		scope.Withhold = func(dir string) (bool, func(string) bool) {
			return filepath.Base(dir) == closed, func(name string) bool { return strings.Contains(name, "3") }
		}
	}
	if r.Intn(3) == 0 {
		return question{files: &FilesRequest{Scope: scope, Pattern: pick("**/*.go", "**", "d*/*", "*"), Order: Order(r.Intn(2)), Limit: r.Intn(6)}}
	}
	p := mustCompile(t, Query{Pattern: pick("foo", "ba+r", "^x", "FOO|bar", `\w+ \d`, "ü"), Multiline: r.Intn(4) == 0})
	return question{grep: &GrepRequest{
		Scope: scope, Pattern: p, Mode: Mode(r.Intn(3)), Before: r.Intn(2), After: r.Intn(2), Limit: r.Intn(5), Offset: r.Intn(2),
	}}
}

// mutate changes something below top.
func mutate(r *rand.Rand, top string) string {
	dir := top
	for range r.Intn(3) {
		dir = filepath.Join(dir, fmt.Sprintf("d%d", r.Intn(3)))
	}
	name := filepath.Join(dir, fmt.Sprintf("f%d%s", r.Intn(4), []string{".go", ".txt"}[r.Intn(2)]))
	texts := []string{
		"foo\nbar 1\nx\n", "nothing\n", "\ufefffoo", "a\x00foo", "\xff\xfef\x00o\x00o\x00\n\x00", strings.Repeat("some text\n", 50) + "foo ü\nbaar 2\n",
	}
	rules := []string{"*.txt\n", "*.go \n", "d1/ \n", "!f1*\n"} // of the same size
	os.MkdirAll(dir, 0o755)
	other := filepath.Join(top, fmt.Sprintf("d%d", r.Intn(3)))
	switch r.Intn(10) {
	case 0:
		os.RemoveAll(name)
		return "remove " + name
	case 1:
		os.RemoveAll(other)
		os.Rename(dir, other)
		return "rename " + dir + " to " + other
	case 2, 3:
		file := filepath.Join(dir, []string{".gitignore", ".adzeignore"}[r.Intn(2)])
		os.WriteFile(file, []byte(rules[r.Intn(len(rules))]), 0o644)
		return "rules in " + file
	case 4:
		os.RemoveAll(filepath.Join(dir, ".gitignore"))
		os.RemoveAll(filepath.Join(dir, ".adzeignore"))
		return "no rules in " + dir
	case 5:
		os.Chmod(name, []os.FileMode{0o644, 0}[r.Intn(2)])
		os.Chmod(filepath.Join(dir, ".gitignore"), []os.FileMode{0o644, 0}[r.Intn(2)])
		return "mode of " + name
	case 6:
		if dir != top {
			os.Chmod(dir, []os.FileMode{0o755, 0o500, 0}[r.Intn(3)])
		}
		return "mode of " + dir
	case 7:
		os.RemoveAll(name)
		os.Symlink([]string{"f1.go", "../d1", "none"}[r.Intn(3)], name)
		return "link " + name
	case 8:
		if os.RemoveAll(other) == nil {
			os.Symlink([]string{"d1", "."}[r.Intn(2)], other)
		}
		return "link " + other
	}
	os.WriteFile(name, []byte(texts[r.Intn(len(texts))]), 0o644)
	return "write " + name
}

// Searches of a session that share passes and listings have the results of single ones, whatever changes in between.
func TestSharedEqualsSingle(t *testing.T) {
	for seed := range soak.Count(6, 300) {
		r := rand.New(rand.NewSource(int64(seed)))
		top := tree(t, map[string]string{"a/b/c.go": "foo\n", ".gitignore": "*.log\n", "x.log": "foo\n"})
		t.Cleanup(func() {
			filepath.WalkDir(top, func(path string, e fs.DirEntry, _ error) error {
				if e.IsDir() {
					os.Chmod(path, 0o755)
				}
				return nil
			})
		})
		if seed%2 == 0 {
			os.Mkdir(filepath.Join(top, ".git"), 0o755)
		}
		shared := &Shared{window: time.Hour, limit: []int{0, 0, 2000}[seed%3]}
		rules := ignore.New(ignore.Options{Roots: []string{top}})
		for round := range 60 {
			var changes []string
			if round%6 == 5 {
				time.Sleep(60 * time.Millisecond) // not synchronization: listings are kept from then on
			} else {
				for range r.Intn(4) {
					changes = append(changes, mutate(r, top))
				}
			}
			var qs []question
			for range 1 + r.Intn(6) {
				qs = append(qs, randomQuestion(t, r, top, []int{0, 64}[seed%2]))
			}
			got := make([]answer, len(qs))
			var wg sync.WaitGroup
			for i, q := range qs {
				wg.Go(func() { got[i] = q.ask(t.Context(), shared, rules) })
			}
			wg.Wait()
			for i, q := range qs {
				if diff := differ(q.alone(t, top), got[i]); diff != "" {
					t.Fatalf("seed %d, round %d, after %q: %+v\n%s", seed, round, changes, q, diff)
				}
			}
		}
	}
}

// A file that is made right after a search is found by the next one, even if the times of its directory are the same.
func TestChangeInSameTick(t *testing.T) {
	top := tree(t, map[string]string{"d/x": ""})
	shared, rules := &Shared{}, ignore.New(ignore.Options{Roots: []string{top}})
	list := question{files: &FilesRequest{Scope: Scope{Paths: []string{top}, Workers: 1}, Order: ByPath}}
	for i := range 300 {
		if err := os.WriteFile(filepath.Join(top, "d", fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if n := list.ask(t.Context(), shared, rules).Files.Total; n != i+2 {
			t.Fatalf("%d files, want %d", n, i+2)
		}
	}
}

// An ignore file that is written in place doesn't change its directory.
func TestIgnoreFileInPlace(t *testing.T) {
	top := tree(t, map[string]string{"d/e/x.go": "", "d/e/x.txt": "", "d/.gitignore": "*.go \n"})
	shared, rules := &Shared{}, ignore.New(ignore.Options{Roots: []string{top}})
	time.Sleep(60 * time.Millisecond) // not synchronization: the listings are kept
	list := question{files: &FilesRequest{Scope: Scope{Paths: []string{top}}, Pattern: "**/x.*"}}
	for i, want := range []string{"x.txt", "x.txt", "x.go", "x.go"} {
		if i == 2 {
			if err := os.WriteFile(filepath.Join(top, "d", ".gitignore"), []byte("*.txt\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if a := list.ask(t.Context(), shared, rules); a.Files.Total != 1 || filepath.Base(a.Files.Files[0].Path) != want {
			t.Errorf("%d: %v, want %s", i, a.Files.Files, want)
		}
		if n := len(shared.dirs); n != 3 && n != 0 { // 0: the file system reports too little
			t.Errorf("%d listings", len(shared.dirs))
		}
	}
}

// grepFoo is a search for foo whose callback is called with each directory.
func grepFoo(t *testing.T, top string, each func(dir string)) question {
	q := &GrepRequest{Scope: Scope{Paths: []string{top}}, Pattern: mustCompile(t, Query{Pattern: "foo"})}
	q.Withhold = func(dir string) (bool, func(string) bool) {
		each(dir)
		return false, nil
	}
	return question{grep: q}
}

func manyFoo(t *testing.T) string {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("d%d/f%d", i/10, i)] = "foo\n"
	}
	return tree(t, files)
}

// inPass returns how many searches take part in the newest pass.
func (s *Shared) inPass() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.passes) == 0 {
		return 0
	}
	p := s.passes[len(s.passes)-1]
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.members)
}

// A search that joins a pass which has begun finds what was written before, in directories that the pass has left too. A search
// that comes too late has its own pass.
func TestLateSearch(t *testing.T) {
	for _, window := range []time.Duration{time.Hour, time.Nanosecond} {
		top := manyFoo(t)
		shared, rules := &Shared{window: window}, ignore.New(ignore.Options{Roots: []string{top}})
		var once sync.Once
		late := make(chan answer, 1)
		first := grepFoo(t, top, func(dir string) {
			if dir == top {
				return
			}
			once.Do(func() {
				if err := os.WriteFile(filepath.Join(top, "new"), []byte("foo\n"), 0o644); err != nil {
					t.Error(err)
				}
				go func() { late <- grepFoo(t, top, func(string) {}).ask(t.Context(), shared, rules) }()
				for window == time.Hour && shared.inPass() < 2 {
					runtime.Gosched()
				}
			})
		}).ask(t.Context(), shared, rules)
		second := <-late
		if n := second.Grep.Matches; n != 301 {
			t.Errorf("window %v: the late search has %d matches", window, n)
		}
		if n := first.Grep.Matches; n != 301 && (window == time.Hour || n != 300) {
			t.Errorf("window %v: the first search has %d matches", window, n)
		}
	}
}

// A canceled search, one that times out and one that has enough leave the others alone.
func TestOneOfSeveralEnds(t *testing.T) {
	top := manyFoo(t)
	shared, rules := &Shared{window: time.Hour}, ignore.New(ignore.Options{Roots: []string{top}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	goesOn := grepFoo(t, top, func(dir string) {
		for shared.inPass() < 4 {
			runtime.Gosched()
		}
		if dir != top {
			cancel()
		}
	})
	all := make(chan answer, 1)
	go func() { all <- goesOn.ask(t.Context(), shared, rules) }()
	for shared.inPass() == 0 {
		runtime.Gosched()
	}
	ends := []question{grepFoo(t, top, func(string) {}), grepFoo(t, top, func(string) {}), grepFoo(t, top, func(string) {})}
	ends[1].grep.Timeout, ends[2].grep.Enough = time.Millisecond, 1
	var got [3]answer
	var wg sync.WaitGroup
	for i, q := range ends {
		wg.Go(func() { got[i] = q.ask([]context.Context{ctx, t.Context(), t.Context()}[i], shared, rules) })
	}
	wg.Wait()
	if a := <-all; a.Grep.Matches != 300 || a.Err != "" || a.Grep.Incomplete != Complete {
		t.Errorf("the search that goes on has %d matches, %q, %q", a.Grep.Matches, a.Err, a.Grep.Incomplete)
	}
	if got[0].Err == "" {
		t.Errorf("the canceled search has no error, and %d matches", got[0].Grep.Matches)
	}
	if got[1].Err != "" || got[2].Err != "" || got[2].Grep.Incomplete != Enough {
		t.Errorf("timeout: %q; enough: %q, %q", got[1].Err, got[2].Err, got[2].Grep.Incomplete)
	}
}

// A search that takes most of the time of a pass continues alone, and finds the same.
func TestSlowSearch(t *testing.T) {
	top := manyFoo(t)
	shared, rules := &Shared{window: time.Hour}, ignore.New(ignore.Options{Roots: []string{top}})
	began, slept, begins := time.Now(), 0, 0
	var mu sync.Mutex
	slow := grepFoo(t, top, nil)
	slow.grep.Withhold = func(dir string) (bool, func(string) bool) {
		mu.Lock()
		defer mu.Unlock()
		if dir == top {
			begins++
		}
		return false, func(string) bool {
			mu.Lock()
			defer mu.Unlock()
			if slept < 2 {
				slept++
				time.Sleep(max(2*slowTime, 3*time.Since(began))) // not synchronization: this is slow
			}
			return false
		}
	}
	got := make(chan answer, 1)
	go func() {
		got <- grepFoo(t, top, func(string) {
			for shared.inPass() < 2 {
				runtime.Gosched()
			}
		}).ask(t.Context(), shared, rules)
	}()
	for shared.inPass() == 0 {
		runtime.Gosched()
	}
	a := slow.ask(t.Context(), shared, rules)
	if fast := <-got; a.Grep.Matches != 300 || fast.Grep.Matches != 300 || a.Grep.Seen != 300 {
		t.Errorf("%d and %d matches", a.Grep.Matches, fast.Grep.Matches)
	}
	if begins < 2 {
		t.Error("the slow search did not continue alone")
	}
}
