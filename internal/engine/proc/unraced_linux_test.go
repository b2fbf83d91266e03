package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze/internal/dev/plainadze"
)

// unraced is this test binary without the race detector, where every user may run it. Tests start a thousand keepers and
// programs in sandboxes; with the race detector each takes several times as long. cmd/adze has stories with keepers that
// have it.
var unraced string

// setuid is a copy of unraced that belongs to another user, if this one is root.
var setuid string

const unracedVariable = "PROC_TEST_UNRACED"

// makeUnraced sets unraced and setuid. No other goroutine starts a process yet: one that is being forked would have the copies
// open for writing, and they could not be executed ("text file busy").
func makeUnraced() (remove func(), err error) {
	setuid = os.Getenv("BOX_SETUID")
	if unraced = os.Getenv(unracedVariable); unraced != "" { // a test in its own process
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "adze-proc-")
	if err != nil {
		return nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	if err := os.Chmod(dir, 0o755); err != nil {
		return remove, err
	}
	unraced = filepath.Join(dir, "proc.test")
	if plainadze.RaceEnabled {
		build := exec.Command("go", "test", "-trimpath", "-c", "-o", unraced, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // the flags of make build, so that packages are compiled once
		if out, err := build.CombinedOutput(); err != nil {
			return remove, fmt.Errorf("%w: %s", err, out)
		}
	} else if err := copyFile("/proc/self/exe", unraced); err != nil {
		return remove, err
	}
	os.Setenv(unracedVariable, unraced)
	if os.Getuid() != 0 {
		return remove, nil
	}
	setuid = filepath.Join(dir, "other")
	if err := copyFile(unraced, setuid); err != nil {
		return remove, err
	}
	os.Chown(setuid, 12345, -1) // not possible everywhere
	return remove, os.Chmod(setuid, os.ModeSetuid|0o755)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// runUnraced runs the tests with such programs.
func runUnraced(run func() int) int {
	remove, err := makeUnraced()
	if remove != nil {
		defer remove()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if plainadze.RaceEnabled {
		helper = Helper{path: unraced}
	}
	return run()
}

// A helper by another path works as well: tests depend on it.
func TestUnracedIsThere(t *testing.T) {
	t.Parallel()
	info, err := os.Stat(unraced)
	if err != nil || info.Mode().Perm()&0o005 != 0o005 {
		t.Errorf("%s: %v, %v", unraced, info, err)
	}
}
