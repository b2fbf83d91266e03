//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package spill

import (
	"syscall"
	"testing"
	"time"
)

// A child process that is being forked has all files until it executes its program. A closed session isn't in use anyway.
func TestCloseUnlocksWhatAForkHasToo(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	d := open(t, state, "ended", Limits{})
	save(t, d, "x")
	forked, err := syscall.Dup(int(d.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(forked)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Clean(state, time.Now().Add(2*Age), Age, nil); err != nil {
		t.Error(err)
	}
	if left := sessions(t, state); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}
