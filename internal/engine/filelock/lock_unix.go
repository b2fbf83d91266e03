//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// noFollow opens a file only if it isn't a link, and doesn't block on a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// Lock locks a file, or returns ErrLocked. Other errors mean that the file system has no locks.
func Lock(f *os.File) error { return try(f, syscall.LOCK_EX) }

// LockShared locks a file that no other process has locked with Lock, or returns ErrLocked.
func LockShared(f *os.File) error { return try(f, syscall.LOCK_SH) }

func try(f *os.File, how int) error {
	err := flock(f, how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// WaitLock locks a file as soon as no other process has locked it. The system serves those who wait in order.
func WaitLock(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// WaitShared locks a file as soon as no other process has locked it with Lock. Several processes can have a shared
// lock.
func WaitShared(f *os.File) error { return flock(f, syscall.LOCK_SH) }

// Unlock releases a lock.
func Unlock(f *os.File) { _ = flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Alive reports whether a process of this machine, of any user, may exist.
func Alive(pid int) bool { return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
