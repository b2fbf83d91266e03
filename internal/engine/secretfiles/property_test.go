package secretfiles

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

type atomicCount struct{ n atomic.Int64 }

func (c *atomicCount) add(n int64) int64 { return c.n.Add(n) }

// Whatever happens to the files, List finds what a walk would, and Appeared what wasn't there before.
func TestListIsCurrent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, err := os.MkdirTemp("", "secretfiles-")
		if err == nil {
			base, err = filepath.EvalSymlinks(base)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		w := &world{base: base, root: filepath.Join(base, "root"), second: filepath.Join(base, "second")}
		os.MkdirAll(w.root, 0o755)
		f := New(Options{Roots: []string{w.root, w.second}})
		f.system = systems[rapid.SampledFrom(slices.Sorted(maps.Keys(systems))).Draw(t, "system")]()
		defer f.Close()
		for range rapid.IntRange(1, 12).Draw(t, "rounds") {
			before, known := f.Snapshot(patience)
			for range rapid.IntRange(0, 6).Draw(t, "changes") {
				w.change(t)
			}
			got, ok := f.List(patience)
			if want := reference(w.root, w.second); !ok || !slices.Equal(got, want) {
				t.Fatalf("List = %q, %v (%s), want %q", got, ok, f.Problem(), want)
			}
			appeared, ok := f.Appeared(before, patience)
			if !known || !ok {
				t.Fatalf("Appeared: %s", f.Problem())
			}
			for _, path := range got {
				if !slices.Contains(before.Paths, path) && !slices.Contains(appeared, path) {
					t.Fatalf("%s was not there before: %q, %q", path, before.Paths, appeared)
				}
			}
		}
	})
}

// world is a directory with two roots in which things happen.
type world struct{ base, root, second string }

func (w *world) path(t *rapid.T) string {
	path := rapid.SampledFrom([]string{w.root, w.root, w.root, w.second, filepath.Join(w.base, "outside")}).Draw(t, "top")
	for range rapid.IntRange(0, 2).Draw(t, "depth") {
		path = filepath.Join(path, rapid.SampledFrom([]string{"a", "b", ".ssh", ".git", "objects"}).Draw(t, "dir"))
	}
	return filepath.Join(path, rapid.SampledFrom([]string{".env", "id_rsa", "x.pem", "notes", ".env.example", "a", "b", "credentials", ".git"}).Draw(t, "name"))
}

// change does something that may fail, as commands do.
func (w *world) change(t *rapid.T) {
	path := w.path(t)
	switch rapid.SampledFrom([]string{"write", "write", "mkdir", "mkdir", "rename", "rename", "delete", "link", "index", "index", "root"}).Draw(t, "change") {
	case "write":
		os.MkdirAll(filepath.Dir(path), 0o755)
		os.WriteFile(path, make([]byte, rapid.IntRange(0, 3).Draw(t, "size")), 0o644)
	case "mkdir":
		os.MkdirAll(path, 0o755)
	case "rename":
		to := w.path(t)
		os.MkdirAll(filepath.Dir(to), 0o755)
		os.Rename(path, to)
		if rapid.Bool().Draw(t, "directory") {
			os.Rename(filepath.Dir(path), filepath.Dir(to))
		}
	case "delete":
		os.RemoveAll(path)
		if rapid.Bool().Draw(t, "directory") {
			os.RemoveAll(filepath.Dir(path))
		}
	case "link":
		os.MkdirAll(filepath.Dir(path), 0o755)
		os.Symlink(w.path(t), path)
	case "index":
		w.index(t)
	case "root":
		os.Rename(w.root, fmt.Sprintf("%s-%d", filepath.Join(w.base, "old"), rapid.IntRange(0, 3).Draw(t, "old")))
		if rapid.Bool().Draw(t, "again") {
			os.MkdirAll(filepath.Join(w.root, "a"), 0o755)
		}
	}
}

// index makes a repository track some files as they are now. It may be in a root, below or above.
func (w *world) index(t *rapid.T) {
	top := rapid.SampledFrom([]string{w.base, w.root, filepath.Join(w.root, "a"), w.second}).Draw(t, "repository")
	sizes := map[string]int{}
	for range rapid.IntRange(0, 4).Draw(t, "tracked") {
		path := w.path(t)
		name, err := filepath.Rel(top, path)
		if info, statErr := os.Lstat(path); err == nil && statErr == nil && filepath.IsLocal(name) && info.Mode().IsRegular() {
			sizes[name] = int(info.Size())
		}
	}
	os.MkdirAll(filepath.Join(top, ".git"), 0o755)
	lock := filepath.Join(top, ".git", "index.lock")
	os.WriteFile(lock, indexOf(sizes), 0o644)
	os.Rename(lock, filepath.Join(top, ".git", "index"))
}
