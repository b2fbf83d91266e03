package search

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Tree lists everything, enters no directory that git ignores, and follows no link. What is known stays as it is known.
func TestTree(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		".gitignore": "build/\n.env\n", ".adzeignore": "secret/\n", ".env": "1", "a/b": "1", "a/.hidden": "1", "build/x": "1",
		"secret/key": "1", ".git/HEAD": "1", "state/x": "1", "sub/build/y": "1",
	} {
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(top, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	links := ""
	if runtime.GOOS != "windows" {
		links = " link dangling"
		if err := os.Symlink("a", filepath.Join(top, "link")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("nowhere", filepath.Join(top, "dangling")); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name  string
		known map[string]bool
		want  string
	}{
		{"first", nil, ".adzeignore .env .git! .gitignore a a/.hidden a/b build! empty secret secret/key sub sub/build!" + links},
		{"known", map[string]bool{"build": true, "secret": false}, ".adzeignore .env .git! .gitignore a a/.hidden a/b build build/x empty secret! sub sub/build!" + links},
	} {
		req := TreeRequest{Paths: []string{top}, Skip: []string{filepath.Join(top, "state")}}
		if tt.known != nil {
			req.Known = func(path string) (enter, known bool) {
				rel, _ := filepath.Rel(top, path)
				enter, known = tt.known[filepath.ToSlash(rel)]
				return enter, known
			}
		}
		res, err := Tree(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(tt.want)
		slices.Sort(want)
		var got []string
		for _, n := range res.Nodes {
			rel, _ := filepath.Rel(top, n.Path)
			rel = filepath.ToSlash(rel)
			if n.Shut {
				rel += "!"
			}
			got = append(got, rel)
			info, err := os.Lstat(n.Path)
			if err != nil || StatOf(info) != n.Stat {
				t.Errorf("%s: %+v, want %+v (%v)", rel, n.Stat, StatOf(info), err)
			}
		}
		slices.SortFunc(got, cmp.Compare[string])
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", tt.name, got, want)
		}
	}
	if res, err := Tree(t.Context(), TreeRequest{Paths: []string{top}, Limit: 3}); err != nil || res.Incomplete != Enough || len(res.Nodes) < 3 {
		t.Errorf("limited: %d nodes, %q, %v", len(res.Nodes), res.Incomplete, err)
	}
}
