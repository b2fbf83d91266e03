//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package filelock

import "os"

const noFollow = 0

// Lock does nothing: there are no locks.
func Lock(*os.File) error { return nil }

// WaitShared does nothing: there are no locks.
func WaitShared(*os.File) error { return nil }

// Unlock does nothing: there are no locks.
func Unlock(*os.File) {}

// Alive returns true: it is unknown.
func Alive(int) bool { return true }
