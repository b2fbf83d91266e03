package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames without replacing a file.
func renameNew(dir *os.Root, handle *os.File, from, to string) error {
	fd := int(handle.Fd())
	err := unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return linkNew(dir, from, to)
	}
	return err
}

// reserve reserves disk space for a growing file, so that a full disk is detected before the first byte is overwritten.
func reserve(f *os.File, old, now int64) error {
	if now <= old {
		return nil
	}
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, old, now-old)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) {
		return err
	}
	return nil
}
