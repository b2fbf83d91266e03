package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A process that is being forked has all files until it executes its program. The last of two sandboxes removes its
// placeholders all the same.
func TestReleaseUnlocksWhatAForkHasToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, ".bashrc")
	mark, content := kindOf(path)
	if err := makePlaceholder(path, mark, content); err != nil {
		t.Fatal(err)
	}
	first, last := &placeholders{dir: lockShared(dir), paths: []string{path}}, &placeholders{dir: lockShared(dir), paths: []string{path}}
	forked, err := unix.Dup(int(first.dir.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(forked)
	first.release()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("it is gone although another sandbox has it: %v", err)
	}
	last.release()
	if _, err := os.Lstat(path); err == nil {
		t.Error("the placeholder is left")
	}
}
