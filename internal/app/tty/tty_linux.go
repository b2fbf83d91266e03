package tty

import "golang.org/x/sys/unix"

// The requests that read and set how a terminal behaves.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)

// flushInput drops unread terminal input.
func flushInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
