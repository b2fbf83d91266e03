//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package spill

import (
	"errors"
	"os"
	"syscall"
)

// movesOpen: a directory can be moved while a file in it is open.
const movesOpen = true

// The kernel releases the lock when the process ends.

func lockShared(f *os.File) error { return flock(f, syscall.LOCK_SH) }

// lockAlone reports whether no other process holds the lock, and takes it.
func lockAlone(f *os.File) bool { return flock(f, syscall.LOCK_EX|syscall.LOCK_NB) == nil }

// unlock releases the lock. Closing the file is not enough: a child process that is just being forked has the file too until
// it executes its program, and keeps the lock as long.
func unlock(f *os.File) error {
	_ = flock(f, syscall.LOCK_UN)
	return f.Close()
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
