package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/engine/workspace/realpath"
)

func open(t *testing.T, state, session string, limits Limits) *Dir {
	t.Helper()
	d, err := Open(state, session, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func save(t *testing.T, d *Dir, text string) Saved {
	t.Helper()
	s, err := d.Save("call_1", "grep_search", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSave(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	d := open(t, state, "s1", Limits{})
	if _, err := os.Lstat(state); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("something was made before it was needed: %v", err)
	}
	first, second := save(t, d, "one\n"), save(t, d, "two")
	want := []Saved{
		{Path: filepath.Join(d.Root(), "result-call_1-grep_search.txt"), Kept: 4},
		{Path: filepath.Join(d.Root(), "result-call_1-grep_search-2.txt"), Kept: 3},
	}
	if diff := cmp.Diff(want, []Saved{first, second}); diff != "" {
		t.Error(diff)
	}
	if got := content(t, first.Path) + content(t, second.Path); got != "one\ntwo" {
		t.Errorf("content: %q", got)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for path, want := range map[string]fs.FileMode{state: 0o700, filepath.Join(state, "spill"): 0o700, d.Root(): 0o700, first.Path: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode().Perm(), err, want)
		}
	}
}

func TestLimits(t *testing.T) {
	d := open(t, t.TempDir(), "s1", Limits{PerResult: 10, PerSession: 25})
	var got []Saved
	for range 3 {
		got = append(got, save(t, d, "0123456789abc"))
	}
	for i, s := range got {
		want := Saved{Path: s.Path, Kept: 10, Dropped: 3}
		if i == 2 {
			want.Kept, want.Dropped = 5, 8
		}
		if s != want || content(t, s.Path) != "0123456789"[:s.Kept] {
			t.Errorf("%d: %+v, want %+v; content %q", i, s, want, content(t, s.Path))
		}
	}
	if _, err := d.Save("x", "y", "more"); !errors.Is(err, ErrFull) {
		t.Errorf("over the session's limit: %v", err)
	}
	if entries, _ := os.ReadDir(d.Root()); len(entries) != 4 { // three results and the lock
		t.Errorf("files: %v", entries)
	}
}

// Files of an earlier run of the session count too.
func TestLimitAfterResume(t *testing.T) {
	state := t.TempDir()
	d := open(t, state, "s1", Limits{PerSession: 10})
	save(t, d, "01234567")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got := save(t, open(t, state, "s1", Limits{PerSession: 10}), "abcdef"); got.Kept != 2 || got.Dropped != 4 {
		t.Errorf("%+v", got)
	}
}

func TestCutBetweenCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		n := rapid.IntRange(-1, len(text)+1).Draw(t, "n")
		got := head(text, int64(n))
		want := ""
		for _, r := range text {
			if len(want)+len(string(r)) > n {
				break
			}
			want += string(r)
		}
		if got != want {
			t.Fatalf("head(%q, %d) = %q, want %q", text, n, got, want)
		}
	})
	if got := head(strings.Repeat("\x80", 9), 8); len(got) < 4 {
		t.Errorf("of bytes that are no characters only %d are left", len(got))
	}
}

func TestHostileNames(t *testing.T) {
	state := t.TempDir()
	for _, session := range []string{"..", "../../etc", "/etc", ".", "a/b", "a\x00b", "A", "a", strings.Repeat("x", 5000), "ä", ".lock", ".gone-1"} {
		d := open(t, state, session, Limits{})
		if filepath.Dir(d.Root()) != filepath.Join(realpath.Existing(state), "spill") || strings.HasPrefix(filepath.Base(d.Root()), ".") {
			t.Errorf("session %q lies in %s", session, d.Root())
		}
		for _, id := range []string{"", "..", "../../x", "/etc/passwd", "a\x00b", "-rf", strings.Repeat("y", 5000), "call\n1", ".lock", ".env", "id_rsa", "\xff"} {
			s, err := d.Save(id, id, "text")
			if err != nil {
				t.Fatalf("session %q, call %q: %v", session, id, err)
			}
			name := filepath.Base(s.Path)
			if filepath.Dir(s.Path) != d.Root() || !strings.HasPrefix(name, "result-") || !strings.HasSuffix(name, ".txt") || len(name) > 200 {
				t.Errorf("call %q is kept in %s", id, s.Path)
			}
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(state, "spill")); len(entries) != 12 {
		t.Errorf("12 sessions share %d folders", len(entries))
	}
	if entries, _ := os.ReadDir(state); len(entries) != 1 {
		t.Errorf("beside the folder: %v", entries)
	}
}

func TestOpenErrors(t *testing.T) {
	for _, in := range [][2]string{{"", "s"}, {"relative", "s"}, {t.TempDir(), ""}} {
		if _, err := Open(in[0], in[1], Limits{}); err == nil {
			t.Errorf("%q was accepted", in)
		}
	}
}

func TestRootIsResolved(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	d := open(t, filepath.Join(dir, "link", "not", "yet"), "s1", Limits{})
	want := filepath.Join(realpath.Existing(dir), "not", "yet", "spill", "s1")
	if got := save(t, d, "x"); d.Root() != want || filepath.Dir(got.Path) != want {
		t.Errorf("root %s, file %s, want %s", d.Root(), got.Path, want)
	}
}

// A planted link in place of a file or directory isn't written through.
func TestLinksAreNotFollowed(t *testing.T) {
	state, victim := t.TempDir(), t.TempDir()
	d := open(t, state, "s1", Limits{})
	save(t, d, "x")
	target := filepath.Join(victim, "target")
	if err := os.Symlink(target, filepath.Join(d.Root(), "result-a-b.txt")); err != nil {
		t.Skip(err)
	}
	s, err := d.Save("a", "b", "text")
	if err != nil || filepath.Base(s.Path) != "result-a-b-2.txt" {
		t.Errorf("%+v, %v", s, err)
	}
	if err := os.Symlink(victim, filepath.Join(state, "spill", "s2")); err != nil {
		t.Fatal(err)
	}
	if s, err := open(t, state, "s2", Limits{}).Save("a", "b", "text"); err == nil {
		t.Errorf("saved through a link: %+v", s)
	}
	if err := Clean(state, time.Now().Add(Age*2), Age, nil); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(victim); len(entries) != 0 {
		t.Errorf("written elsewhere: %v", entries)
	}
}

func TestRemovedDirectoryIsCreatedAgain(t *testing.T) {
	d := open(t, t.TempDir(), "s1", Limits{PerSession: 10})
	save(t, d, "01234567")
	if err := os.RemoveAll(d.Root()); err != nil {
		t.Skip(err) // where an open file cannot be removed
	}
	if got := save(t, d, "abcdef"); got.Kept != 6 || content(t, got.Path) != "abcdef" {
		t.Errorf("%+v", got)
	}
}

func TestStateDirectoryIsAFile(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(state, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := open(t, state, "s1", Limits{}).Save("a", "b", "c"); err == nil {
		t.Errorf("saved: %+v", s)
	}
}

func TestSaveAfterClose(t *testing.T) {
	d := open(t, t.TempDir(), "s1", Limits{})
	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	if _, err := d.Save("a", "b", "c"); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}

func TestConcurrentSaves(t *testing.T) {
	d := open(t, t.TempDir(), "s1", Limits{PerResult: 100, PerSession: 5000})
	var mu sync.Mutex
	var kept, full int64
	paths := map[string]bool{}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				s, err := d.Save("same", "name", strings.Repeat(fmt.Sprint(i), 100))
				mu.Lock()
				if errors.Is(err, ErrFull) {
					full++
				} else if err != nil || paths[s.Path] || content(t, s.Path) != strings.Repeat(fmt.Sprint(i), int(s.Kept)) {
					t.Errorf("%+v, %v", s, err)
				}
				paths[s.Path] = true
				kept += s.Kept
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if kept != 5000 || full != 30 {
		t.Errorf("kept %d bytes, refused %d times; want 5000 and 30", kept, full)
	}
}
