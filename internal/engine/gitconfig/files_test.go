package gitconfig

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir, "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(out), "\n")
}

// TestDirs compares Dirs with git, for files that git writes and for others.
func TestDirs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("git prints other paths")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main, linked := filepath.Join(top, "main"), filepath.Join(top, "linked")
	git(t, top, "init", "-q", main)
	git(t, main, "commit", "-q", "--allow-empty", "-m", "x")
	git(t, main, "worktree", "add", "-q", linked)
	real := filepath.Join(main, ".git")
	if gitDir, common := Dirs(filepath.Join(linked, ".git")); gitDir != filepath.Join(real, "worktrees/linked") || common != real {
		t.Errorf("worktree: %s %s", gitDir, common)
	}
	if gitDir, common := Dirs(real); gitDir != real || common != real {
		t.Errorf("repository: %s %s", gitDir, common)
	}
	for _, text := range []string{
		"gitdir: " + real, "gitdir: " + real + "\n", "gitdir: " + real + "\r\n\n", "gitdir: ../main/.git", "gitdir: ../linked/../main/.git\n",
		"gitdir: " + real + "\x00junk", "gitdir: " + real + " \n", "gitdir:  " + real, " gitdir: " + real, "gitdir:" + real, "gitdir: ", "", real,
		"gitdir: " + real + "\nsecond line", "\ngitdir: " + real, "GITDIR: " + real,
	} {
		dir := filepath.Join(top, "other")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, ".git")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, _ := Pointer(file, "gitdir: ")
		if want := git(t, dir, "rev-parse", "--absolute-git-dir"); want != "" && got != want || want == "" && got == real {
			t.Errorf("%q: %q, git %q", text, got, want)
		}
	}
}

// TestRead shows that Read finds what git may obey in files that Parse rejects.
func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	for text, want := range map[string]string{
		"[core] hooksPath = a":                     "core.hookspath=a",
		"[core]\n\thooksPath = a\x00b\n":           "core.hookspath=a",
		"[core]\n\thooksPath = a\n[bad\n\tb = c\n": "core.hookspath=a",
		"\ufeff[core]\nhookspath = \"a;b\" ; c":    "core.hookspath=a;b",
		"[include]\n\tpath = x \\\n y\n":           "include.path=x  y",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range Read(file) {
			got = append(got, s.Key.String()+"="+s.Value)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if s := Read(filepath.Dir(file)); s != nil {
		t.Errorf("a directory: %v", s)
	}
	for value, want := range map[string]string{"~/x": "/home/x", "/x": "/x", "x": filepath.Join(filepath.Dir(file), "x"), "": ""} {
		s := Setting{Key: SplitKey("includeIf.gitdir:y.path"), Value: value}
		if got := s.Included(file, "/home"); got != want && runtime.GOOS != "windows" {
			t.Errorf("Included(%q) = %q", value, got)
		}
	}
}
