//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelock

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A child process that is being forked has all files until it executes its program. Closing releases the lock anyway.
func TestCloseUnlocksWhatAForkHasToo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	f, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	forked, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(forked)
	if err := Close(f); err != nil {
		t.Fatal(err)
	}
	again, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	Close(again)
}

// A lock in a shared directory must not lead elsewhere, or block.
func TestNoFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "target"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := Try(filepath.Join(dir, "link")); err == nil {
		t.Error("a link was followed")
	}
}
