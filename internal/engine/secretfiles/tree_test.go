package secretfiles

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adze-dev/adze/internal/engine/gitindex"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is long enough for any machine.
const patience = time.Minute

// systems are ways to learn of changes.
var systems = map[string]func() system{
	"watches":     func() system { return system{watch: newWatcher, compare: patience} },
	"times":       func() system { return system{watch: noWatcher, compare: patience} },
	"few watches": func() system { return system{watch: fewWatches(6), compare: patience} },
	"overflows":   func() system { return system{watch: overflowing, compare: patience} },
}

func newWatcher() (watcher, error) { return (&watch.Hub{}).Open(watch.Names) }

func noWatcher() (watcher, error) { return nil, errors.ErrUnsupported }

// limited fails like a kernel whose limit of watches is reached.
type limited struct {
	watcher
	left *atomicCount
}

func (l *limited) Add(path string) (int32, error) {
	if l.left.add(-1) < 0 {
		return 0, syscall.ENOSPC
	}
	return l.watcher.Add(path)
}

func fewWatches(n int) func() (watcher, error) {
	return func() (watcher, error) {
		w, err := newWatcher()
		if err != nil {
			return nil, err
		}
		left := &atomicCount{}
		left.add(int64(n))
		return &limited{w, left}, nil
	}
}

// lossy loses all events but reports it.
type lossy struct{ watcher }

func (l *lossy) Read(visit func(watch.Event)) error {
	n := 0
	err := l.watcher.Read(func(watch.Event) { n++ })
	if n > 0 {
		visit(watch.Event{WD: -1, Overflow: true})
	}
	return err
}

func overflowing() (watcher, error) {
	w, err := newWatcher()
	if err != nil {
		return nil, err
	}
	return &lossy{w}, nil
}

// newFinder makes a Finder that is closed at the end of the test.
func newFinder(t testing.TB, s system, o Options) *Finder {
	t.Helper()
	f := New(o)
	f.system = s
	t.Cleanup(f.Close)
	return f
}

// newRoot returns an empty directory, without links in its path.
func newRoot(t testing.TB) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// indexOf returns an index of version 2 that lists files by their names and sizes.
func indexOf(files map[string]int) []byte { return indexWith(files, 20, "") }

// indexWith returns an index with hashes of some size, and an extension.
func indexWith(files map[string]int, hashSize int, extension string) []byte {
	be := binary.BigEndian
	data := be.AppendUint32(be.AppendUint32([]byte("DIRC"), 2), uint32(len(files)))
	for name, size := range files {
		e := make([]byte, 42+hashSize)
		be.PutUint32(e[24:], 0o100644)
		be.PutUint32(e[36:], uint32(size))
		e = append(e, name...)
		data = append(data, append(e, make([]byte, 8-len(e)%8)...)...)
	}
	data = append(data, extension...)
	return append(data, make([]byte, hashSize)...)
}

// commit makes a repository that tracks files of top as they are.
func commit(t testing.TB, top string, files ...string) {
	t.Helper()
	sizes := map[string]int{}
	for _, name := range files {
		if info, err := os.Lstat(filepath.Join(top, name)); err == nil && info.Mode().IsRegular() {
			sizes[name] = int(info.Size())
		}
	}
	dir := filepath.Join(top, ".git")
	must(t, os.MkdirAll(dir, 0o755))
	lock := filepath.Join(dir, "index.lock")
	must(t, os.WriteFile(lock, indexOf(sizes), 0o644))
	must(t, os.Rename(lock, filepath.Join(dir, "index")))
}

// reference finds the files to hide in the obvious way.
func reference(roots ...string) (found []string) {
	for _, root := range roots {
		filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case e.IsDir() && e.Name() == "objects" && strings.Contains(path, "/.git/"):
				return filepath.SkipDir
			}
			if _, secret := names.Secret(path); !secret {
				return nil
			}
			target, err := filepath.EvalSymlinks(path)
			if err != nil || !(e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0) {
				return nil
			}
			info, err := os.Lstat(target)
			if _, inside := names.Within(target, roots); err == nil && inside && info.Mode().IsRegular() && !inIndex(target, info.Size()) {
				found = append(found, target)
			}
			return nil
		})
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func inIndex(path string, size int64) (listed bool) {
	top := filepath.Dir(path)
	for {
		if _, err := os.Lstat(top + "/.git"); err == nil {
			break
		}
		if top == filepath.Dir(top) {
			return false
		}
		top = filepath.Dir(top)
	}
	data, err := os.ReadFile(top + "/.git/index")
	if err != nil {
		return false
	}
	_, err = gitindex.Parse(data, 20, func(e gitindex.Entry) error {
		if filepath.Join(top, string(e.Name)) == path && int64(e.Size) == size {
			listed = true
		}
		return nil
	})
	return listed && err == nil
}

// check compares List with the paths below root.
func check(t testing.TB, f *Finder, root string, want ...string) {
	t.Helper()
	got, ok := f.List(patience)
	for i, path := range got {
		rel, err := filepath.Rel(root, path)
		must(t, err)
		got[i] = filepath.ToSlash(rel)
	}
	if slices.Sort(want); !ok || !slices.Equal(got, want) {
		t.Errorf("List = %q, %v (%s), want %q", got, ok, f.Problem(), want)
	}
}
