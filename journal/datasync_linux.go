package journal

import (
	"errors"
	"os"
	"syscall"
)

// datasync makes the content of a file durable, without its times.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
