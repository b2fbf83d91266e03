//go:build linux || darwin

package hardlink

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func file(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(from, to); err != nil {
		t.Skip(err)
	}
}

// Files with all names inside, with one outside, with one in .git, and with more names than are inside by any way of
// counting twice: a directory that is given twice, one below another, a link to a directory.
func TestInside(t *testing.T) {
	top := t.TempDir()
	ws, out := filepath.Join(top, "ws"), filepath.Join(top, "out")
	names := map[string]bool{} // whether all are inside
	for i, tc := range []struct {
		links []string
		want  bool
	}{
		{[]string{"ws/a/b/c/two", "ws/other"}, true},
		{[]string{"out/x"}, false},
		{[]string{"ws/z", "out/y"}, false},
		{[]string{"ws/.git/config"}, false},
		{[]string{"ws/sub/.git/hooks/h"}, false},
		{[]string{"ws/sub/in"}, true},
	} {
		path := filepath.Join(ws, fmt.Sprint("f", i))
		file(t, path)
		for _, l := range tc.links {
			link(t, path, filepath.Join(top, fmt.Sprint(l, i)))
			if filepath.Base(l) == "config" || filepath.Base(l) == "h" {
				os.Rename(filepath.Join(top, fmt.Sprint(l, i)), filepath.Join(top, l))
			}
		}
		names[path] = tc.want
	}
	if err := os.Symlink(out, filepath.Join(ws, "linked")); err != nil {
		t.Fatal(err)
	}
	ask, ids := map[ID]uint64{}, map[string]ID{}
	for path := range names {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		id, n := Of(info)
		ask[id], ids[path] = n, id
	}
	got := Inside([]string{ws, ws, filepath.Join(ws, "sub")}, ask)
	for path, want := range names {
		if got[ids[path]] != want {
			t.Errorf("%s: all names inside: %v, want %v", path, got[ids[path]], want)
		}
	}
}
