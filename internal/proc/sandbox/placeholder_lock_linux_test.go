package sandbox

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A process that is being forked has all files until it executes its program. The next sandbox has placeholders all the
// same: it used to wait for the lock for half a second, and then to make none.
func TestReleaseUnlocksWhatAForkHasToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := &placeholders{dir: lockShared(dir)}
	forked, err := unix.Dup(int(h.dir.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(forked)
	h.release()
	next := lockShared(dir)
	if next == nil {
		t.Fatal("the directory is still locked")
	}
	next.Close()
}
