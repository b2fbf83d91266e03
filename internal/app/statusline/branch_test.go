package statusline

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A linked worktree and a submodule have their own branches. The status line used to show that of the repository
// around them, and read its file for each frame.
func TestBranch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(in string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"}, args...)...)
		cmd.Dir = filepath.Join(dir, in)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	for _, name := range []string{"main", "part"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		git(name, "init", "-q", "-b", name)
		git(name, "commit", "-q", "--allow-empty", "-m", "x")
	}
	git("main", "worktree", "add", "-q", "-b", "side/way", "linked")
	git("main", "submodule", "--quiet", "add", filepath.Join(dir, "part"), "module")
	git("main/module", "checkout", "-q", "-b", "inner")
	for in, want := range map[string]string{
		"main": "main", "main/sub": "main", "main/linked": "side/way", "main/module": "inner",
	} {
		if got := branchOf(filepath.Join(dir, in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	var b Branch
	seen := func() string { return b.Name(filepath.Join(dir, "main")) }
	seen()
	git("main", "checkout", "-q", "-b", "other")
	if got := seen(); got != "main" {
		t.Errorf("read again although nothing ran here: %q", got)
	}
	b.Changed()
	if got := seen(); got != "other" {
		t.Errorf("%q", got)
	}
	git("main", "checkout", "-q", "--detach")
	if got := branchOf(filepath.Join(dir, "main")); len(got) != 7 {
		t.Errorf("detached: %q", got)
	}
}
