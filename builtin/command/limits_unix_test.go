//go:build unix

package command

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
