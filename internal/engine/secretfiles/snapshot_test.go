package secretfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Every way in which a secret file appears is detected, even if it is gone again where directories are watched.
func TestAppeared(t *testing.T) {
	for name, system := range systems {
		t.Run(name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			outside := filepath.Join(root, "..", "outside")
			at := func(name string) string { return filepath.Join(root, name) }
			put := func(path string) {
				t.Helper()
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			do := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			put(at("replaced/.env"))
			put(at("edited/.env"))
			put(at("plain.txt"))
			put(filepath.Join(outside, "deep/x.pem"))
			put(at("replaced/new"))
			f := New(Options{Roots: []string{root}})
			f.system = system()
			defer f.Close()
			before, ok := f.Snapshot(patience)
			if !ok {
				t.Fatal(f.Problem())
			}
			if none, ok := f.Appeared(before, patience); !ok || len(none) > 0 {
				t.Errorf("nothing happened, and these appeared: %q, %v", none, ok)
			}
			put(at(".env"))
			put(at("a/b/c/server.pem"))
			do(os.Rename(at("replaced/new"), at("replaced/.env")))
			do(os.Link(at("plain.txt"), at("id_rsa")))
			do(os.Rename(outside, at("moved")))
			do(os.WriteFile(at("edited/.env"), []byte("longer"), 0o600)) // it is still covered
			put(at("plain2.txt"))
			want := []string{at(".env"), at("a/b/c/server.pem"), at("id_rsa"), at("moved/deep/x.pem"), at("replaced/.env")}
			if got, ok := f.Appeared(before, patience); !ok || !slices.Equal(got, want) {
				t.Errorf("%q, %v, want %q", got, ok, want)
			}
			again, _ := f.Snapshot(patience)
			put(at("gone.key"))
			do(os.Remove(at("gone.key")))
			put(at("gone.txt"))
			do(os.Remove(at("gone.txt")))
			got, ok := f.Appeared(again, patience)
			if watched := name == "watches" && f.tree.watcher != nil; !ok || slices.Contains(got, at("gone.key")) != watched || len(got) > 1 {
				t.Errorf("%q, %v, watched: %v", got, ok, watched)
			}
		})
	}
}

// With more arrivals than are kept, the result is incomplete, and says so.
func TestTooManyArrivals(t *testing.T) {
	var a arrivals
	for i := range maxArrivals + 1 {
		a.add(fmt.Sprint(i))
	}
	if _, complete := a.since(0); complete {
		t.Error("complete")
	}
	if last, complete := a.since(a.next() - 1); !complete || !slices.Equal(last, []string{fmt.Sprint(maxArrivals)}) {
		t.Errorf("%q, %v", last, complete)
	}
	if last, complete := a.since(a.next()); !complete || len(last) > 0 {
		t.Errorf("%q, %v", last, complete)
	}
}
