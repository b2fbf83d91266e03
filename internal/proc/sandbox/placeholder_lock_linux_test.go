package sandbox

import (
	"os"
	"path/filepath"
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

// A directory that couldn't be locked at the start, because the machine was busy, is cleaned up in the end all the same.
func TestReleaseWithoutALock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".bashrc")
	mark, content := kindOf(path)
	if err := makePlaceholder(path, mark, content); err != nil {
		t.Fatal(err)
	}
	other := lockShared(filepath.Dir(path))
	(&placeholders{paths: []string{path}}).release()
	if _, err := os.Lstat(path); err != nil {
		t.Error("it was removed although another sandbox holds it")
	}
	other.Close()
	(&placeholders{paths: []string{path}}).release()
	if _, err := os.Lstat(path); err == nil {
		t.Error("it was left behind")
	}
}
