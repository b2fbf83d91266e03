//go:build unix

package leftover

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/adze-dev/adze/internal/engine/filelock"
)

const noFollow = syscall.O_NOFOLLOW

// lock locks a file until it is closed. It isn't own if another process has locked or removed it.
func lock(f *os.File) (own bool, err error) {
	err = filelock.Lock(f)
	if errors.Is(err, filelock.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return false, err
	}
	return st.Nlink > 0, nil
}

// own reports whether a file belongs to the user.
func own(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
