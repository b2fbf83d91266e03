package spill

import (
	"os"

	"golang.org/x/sys/windows"
)

// movesOpen: a directory can't be moved while a file in it is open, so Clean releases the lock slightly earlier.
const movesOpen = false

func lockShared(f *os.File) error { return lock(f, 0) }

// lockAlone reports whether no other process holds the lock, and takes it.
func lockAlone(f *os.File) bool {
	return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY) == nil
}

func unlock(f *os.File) error { return f.Close() }

func lock(f *os.File, how uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, new(windows.Overlapped))
}
