package disk

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWorktree(t *testing.T) {
	top := plant(t, "repo/.git/HEAD", "repo/a/b/c", "linked/.git", "linked/x/y", "bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/hooks/x", "none/x")
	top, err := filepath.EvalSymlinks(top)
	if err != nil {
		t.Fatal(err)
	}
	d := patient(Options{})
	for dir, want := range map[string]string{"repo": "repo", "repo/a/b": "repo", "linked/x": "linked", "bare": "", "bare/hooks": ""} {
		if want != "" {
			want = filepath.Join(top, want)
		}
		if got, known := d.Worktree(filepath.Join(top, dir)); got != want || !known {
			t.Errorf("Worktree(%s) = %q, %v, want %q", dir, got, known, want)
		}
	}
	if _, known := d.Worktree("relative"); known {
		t.Error("a relative path is known")
	}
	if os.Getuid() != 0 && os.Chmod(filepath.Join(top, "none"), 0) == nil {
		if _, known := d.Worktree(filepath.Join(top, "none")); known {
			t.Error("a directory that can't be entered is known")
		}
		os.Chmod(filepath.Join(top, "none"), 0o755)
	}
}
