package ondisk

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
	d := open(options{})
	for dir, want := range map[string]string{"repo": "repo", "repo/a/b": "repo", "linked/x": "?", "bare": "?", "bare/hooks": "?"} {
		if want != "?" {
			want = filepath.Join(top, want)
		}
		if got, known := d.worktree(filepath.Join(top, dir)); known != (want != "?") || known && got != want {
			t.Errorf("Worktree(%s) = %q, %v, want %q", dir, got, known, want)
		}
	}
	if _, known := d.worktree("relative"); known {
		t.Error("a relative path is known")
	}
	if os.Getuid() != 0 && os.Chmod(filepath.Join(top, "none"), 0) == nil {
		if _, known := d.worktree(filepath.Join(top, "none")); known {
			t.Error("a directory that can't be entered is known")
		}
		os.Chmod(filepath.Join(top, "none"), 0o755)
	}
}

// On Windows, looking at //server/share connects to the server, which gets a hash of the user's password. Such a path is
// unknown, unless the workspace is there.
func TestRemotePathsAreNotLookedAt(t *testing.T) {
	top := plant(t, "d/a")
	d := open(options{windows: true, roots: []string{`//files/home/WS`}})
	remote := "/" + top + "/d" // to this system it is an ordinary path
	if got := d.Resolve(remote + "/a"); got != "*" {
		t.Errorf("Resolve = %q", got)
	}
	if d.Tracked(remote, func(string) bool { return true }) {
		t.Error("Tracked")
	}
	for path, want := range map[string]bool{
		`\\server\share`: true, "//server/share": true, `\/server/share`: true, `\\?\C:\x`: true, `\\.\pipe\x`: true, "//files/home/wsx": true, "//files/home": true,
		"//files/home/ws": false, `\\FILES\home\ws\a`: false, "C:/x": false, "/c/x": false, "x": false,
	} {
		if got := d.remote(path); got != want {
			t.Errorf("remote(%s) = %v", path, got)
		}
	}
	if open(options{}).remote("//server/share") {
		t.Error("remote on a system where // is /")
	}
}
