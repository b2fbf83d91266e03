//go:build unix

package builtin

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// A file that an ordinary user can't read or write is reported as such. A child process without root tries it.
func TestNoRights(t *testing.T) {
	if dir := os.Getenv("ADZE_TEST_NOBODY"); dir != "" {
		asNobody(t, dir)
		return
	}
	dir, err := os.MkdirTemp("", "adze-rights-")
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]os.FileMode{"": 0o755, "secret": 0o000, "closed": 0o000, "fixed": 0o555, "fixed/a": 0o444}
	t.Cleanup(func() {
		for name := range modes { // only root can remove what is in these as they are
			os.Chmod(filepath.Join(dir, name), 0o755)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	put(t, dir, map[string]string{"secret": "x", "closed/a": "x", "fixed/a": "x"})
	for name, mode := range modes {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoRights$", "-test.v")
	cmd.Env = append(os.Environ(), "ADZE_TEST_NOBODY="+dir, "TMPDIR=/tmp", "HOME=/nonexistent")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

func asNobody(t *testing.T, dir string) {
	if os.Getuid() == 0 {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
			t.Skip("cannot give up root here:", err)
		}
	}
	s, err := New(Options{Dir: dir, AllRead: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := executor(s)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		tool string
		args args
		want tool.ErrorType
	}{
		{"read_file", args{"absolute_path": at("secret")}, tool.PermissionDenied},
		{"read_file", args{"absolute_path": at("closed/a")}, tool.PermissionDenied},
		{"list_directory", args{"path": at("closed")}, tool.PermissionDenied},
		{"write_file", args{"file_path": at("secret"), "content": "y"}, tool.PermissionDenied},
		{"write_file", args{"file_path": at("fixed/new"), "content": "y"}, tool.PermissionDenied},
		{"write_file", args{"file_path": at("fixed/a"), "content": "y"}, tool.PermissionDenied},
		{"write_file", args{"file_path": at("fixed/deep/er/new"), "content": "y"}, tool.PermissionDenied},
		{"edit", args{"file_path": at("secret"), "old_string": "x", "new_string": "y"}, tool.PermissionDenied},
		{"edit", args{"file_path": at("fixed/a"), "old_string": "x", "new_string": "y"}, tool.PermissionDenied},
	} {
		o := call(t, x, c.tool, c.args)
		if o.Error == nil || o.Error.Type != c.want {
			t.Errorf("%s %v: %v", c.tool, c.args, o.Result.Text())
		}
	}
	if o := call(t, x, "read_many_files", args{"paths": []string{"."}}); !strings.Contains(o.Result.Text(), "secret: permission denied") {
		t.Error(o.Result.Text())
	}
	if left, _ := filepath.Glob(at("fixed/*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
