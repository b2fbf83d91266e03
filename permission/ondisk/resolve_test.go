package ondisk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	top := plant(t, "a/b/c.txt", "link -> a/b", "loop -> loop", "nowhere -> a/new/x")
	tests := []struct{ path, want string }{
		{top + "/a/b/c.txt", top + "/a/b/c.txt"},
		{top + "/link/c.txt", top + "/a/b/c.txt"},
		{top + "/link/../x", top + "/a/x"},
		{top + "/link/./new/deep/", top + "/a/b/new/deep"},
		{top + "/nowhere", top + "/a/new/x"},
		{top + "/loop/../a", "*"},
		{"/", "/"},
		{"a/../b", "b"},
		{"", "."},
	}
	d := open(options{})
	for _, tt := range tests {
		if got := d.Resolve(tt.path); got != filepath.FromSlash(tt.want) {
			t.Errorf("Resolve(%q) = %q, want %q", tt.path, got, tt.want)
		}
	}
}

// plant makes files, directories and links: "a/b", "dir/", "link -> target". It returns their directory.
func plant(t testing.TB, paths ...string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		name, target, link := strings.Cut(p, " -> ")
		full := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if link {
			err = os.Symlink(strings.ReplaceAll(target, "$TOP", top), full)
		} else if strings.HasSuffix(p, "/") {
			err = os.MkdirAll(full, 0o755)
		} else {
			err = os.WriteFile(full, []byte("x"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}
