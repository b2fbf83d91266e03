//go:build unix

package oauth

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A child process that is being forked has all files until it executes its program. Unlocking releases the lock anyway.
func TestUnlockWhatAForkHasToo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	forked := duplicate(t, path)
	defer syscall.Close(forked)
	unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again, err := lockFile(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// duplicate duplicates the descriptor of an open file, as a fork does.
func duplicate(t *testing.T, path string) int {
	t.Helper()
	want, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	wantStat := want.Sys().(*syscall.Stat_t)
	for fd := range 4096 {
		var st syscall.Stat_t
		if syscall.Fstat(fd, &st) == nil && st.Ino == wantStat.Ino && st.Dev == wantStat.Dev {
			forked, err := syscall.Dup(fd)
			if err != nil {
				t.Fatal(err)
			}
			return forked
		}
	}
	t.Fatalf("%s is not open", path)
	return 0
}
