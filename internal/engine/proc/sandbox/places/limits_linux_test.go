package places

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// Limited commands can't read files beside a program, or above the workspace.
func TestLimitsStayNarrow(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"home/.local/lib/node_modules/npm/x", "home/.local/bin/node", "home/.local/share/keyrings/key", "home/lib/node_modules/x", "home/bin/tool", "home/.ssh/id_rsa",
		"home/node/bin/node", "home/node/lib/node_modules/x", "clone/work/a.txt", "clone/.gitignore", "prefix/bin/python3", "prefix/lib/python3.12/os.py", "prefix/share/x",
		"other/bin/tool", "other/notes", "clone/work/bin/tool", "clone/work/lib/node_modules/x",
	} {
		path = filepath.Join(base, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// A clone could have an ignore file that leads to a key, above the directory that is the workspace.
	if err := os.Symlink("../home/.ssh/id_rsa", filepath.Join(base, "clone/.ignore")); err != nil {
		t.Fatal(err)
	}
	path := ""
	for _, dir := range []string{"home", "home/.local/bin", "home/bin", "home/node/bin", "prefix/bin", "other/bin", "clone/work/bin"} {
		path += filepath.Join(base, dir) + string(filepath.ListSeparator)
	}
	l := Surroundings{Roots: []string{filepath.Join(base, "clone/work")}, Env: []string{"HOME=" + filepath.Join(base, "home"), "PATH=" + path}}.Limits()
	for path, want := range map[string][2]bool{ // read, execute
		"home/.local/lib/node_modules/npm/x": {true, true}, "home/.local/bin/node": {true, true}, "home/.local/share/keyrings/key": {},
		"home/bin/tool": {true, true}, "home/lib/node_modules/x": {true, true}, "home/.ssh/id_rsa": {}, "home/node/lib/node_modules/x": {true, true},
		"clone/work/a.txt": {true, false}, "clone/work/bin/tool": {true, false}, "clone/.gitignore": {true, false}, "clone/other": {},
		"prefix/share/x": {true, true}, "other/bin/tool": {true, true}, "other/notes": {},
	} {
		abs := filepath.Join(base, path)
		execute := isIn(abs, l.Execute)
		if got := [2]bool{execute || isIn(abs, l.Read), execute}; got != want {
			t.Errorf("%s: may be read and executed: %v, want %v", path, got, want)
		}
	}
	l = Surroundings{Roots: []string{filepath.Join(base, "clone/work")}, System: []string{filepath.Join(base, "clone")}}.Limits()
	for _, path := range l.Read {
		if isIn(path, l.Execute) {
			t.Errorf("%s can be executed, and needs no rule for reading", path)
		}
	}
}

// What git reads for a workspace is outside it if the repository is above it, or elsewhere. Nothing else is: a link or a pipe
// in place of .git let commands read the repository above.
func TestGitDirs(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{
		"above/.git", "above/plain", "above/own/.git", "above/link", "above/dangling", "above/pipe", "above/file", "elsewhere/.git", "none",
		"main/.git/objects", "main/.git/worktrees/linked", "linked/sub",
	} {
		if err := os.MkdirAll(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"above/file/.git": "no pointer", "main/.git/HEAD": "", "main/.git/config": "", "main/.git/worktrees/linked/HEAD": "",
		"main/.git/worktrees/linked/gitdir": at("linked/.git"), "linked/.git": "gitdir: " + at("main/.git/worktrees/linked"),
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(at("elsewhere/.git"), at("above/link/.git")), os.Symlink("gone", at("above/dangling/.git")),
		syscall.Mkfifo(at("above/pipe/.git"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for root, want := range map[string][]string{
		"above": nil, "above/plain": {"above/.git"}, "above/own": nil, "above/link": nil, "above/dangling": nil, "above/pipe": nil,
		"above/file": {"above/file/.git"}, "linked": {"linked/.git", "main/.git"}, "linked/sub": {"linked/.git", "main/.git"}, "none": nil,
	} {
		var full []string
		for _, name := range want {
			full = append(full, at(name))
		}
		if got := gitDirs(at(root)); !slices.Equal(got, full) {
			t.Errorf("%s: %q, want %q", root, got, want)
		}
	}
}
