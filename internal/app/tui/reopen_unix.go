//go:build unix

package tui

import (
	"fmt"
	"os"
	"syscall"
)

// reopen opens a terminal again, so that its reads can be ended without changing the file that other programs share. If
// that isn't possible, it returns the file itself.
func reopen(f *os.File) *os.File {
	for _, path := range []string{fmt.Sprintf("/proc/self/fd/%d", f.Fd()), "/dev/tty"} {
		if again, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0); err == nil {
			return again
		}
	}
	return f
}
