package realpath

import (
	"os"
	"path/filepath"
	"testing"
)

func TestExisting(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "real"), link); err != nil {
		t.Skip(err)
	}
	missing := filepath.Join(link, "a", "b")
	if got := Existing(missing); got != missing {
		t.Errorf("dangling: %s", got)
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, want := Existing(missing), filepath.Join(dir, "real", "a", "b"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Existing(filepath.Join(link, "..", "real")); got != filepath.Join(dir, "real") {
		t.Errorf("..: %s", got)
	}
}
