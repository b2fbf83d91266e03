package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const noFollow = 0

// place is a byte far behind the content, because a locked byte can't be read.
func place() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1} }

func lock(f *os.File, how uint32) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, place())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// Lock locks a file, or returns ErrLocked.
func Lock(f *os.File) error {
	return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
}

// WaitShared locks a file as soon as no other process has locked it with Lock. Several processes can have a shared
// lock.
func WaitShared(f *os.File) error { return lock(f, 0) }

// Unlock releases a lock.
func Unlock(f *os.File) { _ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, place()) }

// Alive reports whether a process of this machine, of any user, may exist.
func Alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return errors.Is(err, os.ErrPermission)
	}
	p.Release()
	return true
}
