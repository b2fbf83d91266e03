//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package tty

import "golang.org/x/sys/unix"

// The requests that read and set how a terminal behaves.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)

// flushInput drops unread terminal input.
func flushInput(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, unix.TCIFLUSH) }
