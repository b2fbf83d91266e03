//go:build unix

package command

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/internal/engine/secretvalues"
	"github.com/adze-dev/adze/internal/engine/workspace"
)

// Only files that the user can read need to be hidden. A child process without root tries it.
func TestMayRead(t *testing.T) {
	const variable = "ADZE_TEST_NOBODY"
	modes := map[string]os.FileMode{"secret": 0o000, "public": 0o444, "directory": 0o755 | os.ModeDir}
	if dir := os.Getenv(variable); dir != "" {
		if os.Getuid() == 0 {
			if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
				t.Skip("cannot give up root here:", err)
			}
		}
		for name, mode := range modes {
			path := filepath.Join(dir, name)
			if st, err := os.Stat(path); err != nil || mayRead(path, st) != (mode.Perm() != 0) {
				t.Errorf("mayRead(%s) is wrong (%v)", name, err)
			}
		}
		return
	}
	dir, err := os.MkdirTemp("", "adze-rights-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for name, mode := range modes {
		path := filepath.Join(dir, name)
		if mode.IsDir() {
			err = os.Mkdir(path, 0o755)
		} else {
			err = os.WriteFile(path, []byte("x"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		os.Chmod(path, mode.Perm())
	}
	os.Chmod(dir, 0o755)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMayRead$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The directories of PATH are looked at when the first command runs: that took 2 ms of the start of every session.
func TestPathIsLookedAtByTheFirstCommand(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, bin := filepath.Join(dir, "w"), filepath.Join(dir, "bin")
	if err := errors.Join(os.Mkdir(root, 0o755), os.Mkdir(bin, 0o755)); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{
		Workspace: ws, Values: secretvalues.New(secretvalues.Options{}), Environ: []string{"PATH=" + bin + ":/bin"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	evil := filepath.Join(root, "evil")
	if err := errors.Join(os.WriteFile(evil, nil, 0o755), os.Symlink(evil, filepath.Join(bin, "ls"))); err != nil {
		t.Fatal(err)
	}
	if env := s.sandboxes.unapproved().short; !slices.Contains(env, "PATH=/bin") {
		t.Errorf("a directory with a link into the workspace is in PATH: %q", env)
	}
}
