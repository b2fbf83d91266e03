package watch_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/workspace/watch"
)

func open(t *testing.T, h *watch.Hub, i watch.Interest) *watch.Watcher {
	t.Helper()
	w, err := h.Open(i)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func add(t *testing.T, w *watch.Watcher, dir string) int32 {
	t.Helper()
	wd, err := w.Add(dir)
	if err != nil {
		t.Fatal(err)
	}
	return wd
}

// read returns the names with events, once each.
func read(t *testing.T, w *watch.Watcher) (names []string) {
	t.Helper()
	if err := w.Read(func(e watch.Event) { names = append(names, e.Name) }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Two watchers of one directory share a watch, and each gets what it is interested in, also after the other was closed.
func TestShared(t *testing.T) {
	dir, h := t.TempDir(), &watch.Hub{Most: 1}
	write(t, filepath.Join(dir, "old"))
	names, writes := open(t, h, watch.Names), open(t, h, watch.Writes)
	if a, b := add(t, names, dir), add(t, writes, dir); a != b {
		t.Errorf("watches %d and %d", a, b)
	}
	if _, err := names.Add(t.TempDir()); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a second directory: %v", err)
	}
	write(t, filepath.Join(dir, "old"))
	write(t, filepath.Join(dir, "new"))
	if a, b := read(t, names), read(t, writes); !slices.Equal(a, []string{"new"}) || !slices.Equal(b, []string{"new", "old"}) {
		t.Errorf("names: %q, writes: %q", a, b)
	}
	names.Close()
	write(t, filepath.Join(dir, "old"))
	if got := read(t, writes); !slices.Equal(got, []string{"old"}) {
		t.Errorf("after the other is closed: %q", got)
	}
	writes.Remove(add(t, writes, dir))
	write(t, filepath.Join(dir, "old"))
	if got := read(t, writes); len(got) > 0 {
		t.Errorf("after the watch is removed: %q", got)
	}
	writes.Close()
	again := open(t, h, watch.Writes)
	add(t, again, dir)
	write(t, filepath.Join(dir, "old"))
	if got := read(t, again); !slices.Equal(got, []string{"old"}) {
		t.Errorf("a new watcher: %q", got)
	}
}
