//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// canRedraw reports whether a terminal understands the sequences that move its cursor.
func canRedraw(_ *os.File, kind string) bool { return kind != "" && kind != "dumb" }

// inBackground reports whether another program has the terminal.
func inBackground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}

// echo gives the switch of a terminal's echo: what is typed while the live area is there is dropped, and shown it would
// tear the area apart. It is nil where this program does not have the terminal.
func echo(f *os.File) func(on bool) {
	fd := int(f.Fd())
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || group != unix.Getpgrp() {
		return nil
	}
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil || before.Lflag&unix.ECHO == 0 {
		return nil
	}
	return func(on bool) {
		now, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil || inBackground(f) { // whose settings are another program's now
			return
		}
		now.Lflag &^= unix.ECHO
		if on {
			now.Lflag |= unix.ECHO
		}
		_ = unix.IoctlSetTermios(fd, setTermios, now) // it is for looks only
	}
}
