package ondisk

import (
	"os"
	"path/filepath"
	"testing"
)

// A path is in a repository by the entries of a directory above it, or completes one.
func TestRepository(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{
		"bare/HEAD", "bare/objects/x", "bare/refs/x", "half/HEAD", "half/objects/x", "head/HEAD", "rest/objects/x", "rest/refs/x",
		"bare/tree/.git", "top/.git/HEAD", "top/HEAD", "top/objects/x", "top/refs/x",
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d := New([]string{root})()
	for file, want := range map[string]bool{
		"bare/config": true, "bare/HEAD": true, "bare/hooks/pre-commit": true, "bare/objects/info/alternates": true,
		"half/refs/heads/x": true, "half/refs": true, "head/commondir": true, "rest/HEAD": true,
		"half/config": false, "head/refs/x": false, "head/objects": false, "rest/config": false, "main.go": false, "HEAD": false,
		"bare/tree/config": false, // a linked worktree
		"top/config":       false, // git prefers .git
		".":                false,
	} {
		if got := d.Repository(filepath.Join(root, file)); got != want {
			t.Errorf("%s: %v", file, got)
		}
	}
	if d.Repository(filepath.Join(filepath.Dir(root), "HEAD")) {
		t.Error("outside the workspace")
	}
}
