package tui

import (
	"os"

	"golang.org/x/sys/unix"
)

// typedAhead reports whether keys wait to be read. The terminal showed them already.
func typedAhead(f *os.File) bool {
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ)
	return err == nil && n > 0
}
