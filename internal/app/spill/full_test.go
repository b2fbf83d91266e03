//go:build unix

package spill

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// A disk that fills up in the middle of a file leaves no half of it. The limit on file sizes is in for the disk,
// in a child, for it holds for a whole process.
func TestFullDisk(t *testing.T) {
	state := os.Getenv("ADZE_TEST_FULL")
	if state == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$")
		cmd.Env = append(os.Environ(), "ADZE_TEST_FULL="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
		t.Skip(err)
	}
	d := open(t, state, "s1", Limits{PerSession: 3 << 20})
	for range 3 { // each gives its room back
		if s, err := d.Save("a", "b", strings.Repeat("x", 2<<20)); !errors.Is(err, syscall.EFBIG) {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	if entries, _ := os.ReadDir(d.Root()); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	save(t, d, "small enough")
}
