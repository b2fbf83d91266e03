//go:build unix

package ondisk

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe in the place of a file or a directory doesn't make an answer wait for a writer.
func TestPipes(t *testing.T) {
	top := plant(t, "w/a.go", "r/.git/objects/", "r/.git/refs/", "r/.git/index")
	for _, name := range []string{"w/pipe", "w/.env", "r/.git/HEAD", "r/.git/config"} {
		if err := syscall.Mkfifo(filepath.Join(top, name), 0o644); err != nil {
			t.Skip("no pipes here:", err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		d := open(options{})
		if _, program, known := d.Git(top + "/r"); known || program != "" {
			t.Errorf("Git = %q, %v", program, known)
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a check waits for a pipe")
	}
}

// Files that the user may not read are unknown. A child without root's rights checks.
func TestNoRights(t *testing.T) {
	if dir := os.Getenv("ADZE_TEST_NOBODY"); dir != "" {
		asNobody(t, dir)
		return
	}
	s := newStage(t)
	dir, err := os.MkdirTemp("", "adze-rights-")
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]os.FileMode{"config/.git/config": 0, "objects/.git/objects": 0o644, "all/.git": 0, "index/.git/index": 0, "closed": 0}
	t.Cleanup(func() {
		for name := range modes {
			os.Chmod(filepath.Join(dir, name), 0o755)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"config", "objects", "all", "index", "fine"} {
		s.git("", "clone", "-q", s.repo, filepath.Join(dir, name))
	}
	if err := os.MkdirAll(filepath.Join(dir, "closed", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, mode := range modes {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoRights$", "-test.v")
	cmd.Env = append(os.Environ(), "ADZE_TEST_NOBODY="+dir, "HOME=/nonexistent")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func asNobody(t *testing.T, dir string) {
	if os.Getuid() == 0 {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
			t.Skip("cannot give up root here:", err)
		}
	}
	d := open(options{})
	for name, want := range map[string]bool{"config": false, "objects": false, "all": false, "index": false, "fine": true} {
		if _, program, known := d.Git(filepath.Join(dir, name)); known != want || program != "" {
			t.Errorf("Git(%s) = %q, %v; want known %v", name, program, known, want)
		}
	}
}
