//go:build unix

package lockfile

import (
	"errors"
	"os"
	"syscall"
)

// Try locks a file for this process. Closing the file, or the end of the process, unlocks it. It returns ErrLocked if
// another process has locked it.
func Try(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, err
	}
	return f, nil
}
