//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/filelock"
)

const (
	nonblock = unix.O_NONBLOCK
	noFollow = unix.O_NOFOLLOW
)

// keep gives the new file the owner, extended attributes and mode of the old one, and returns what can't be kept, in
// words.
func keep(f, old *os.File, info fs.FileInfo) (lost string, err error) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", f.Chmod(info.Mode())
	}
	mine, err := f.Stat()
	if err != nil {
		return "", err
	}
	if m, ok := mine.Sys().(*syscall.Stat_t); ok && (m.Uid != st.Uid || m.Gid != st.Gid) {
		if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) {
				return "its owner or group could not be preserved otherwise", nil
			}
			return "", err
		}
	}
	if name, err := copyAttributes(f, old); err != nil {
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
			return "", err
		}
		return fmt.Sprintf("its extended attribute %s could not be preserved otherwise", name), nil
	}
	if err := f.Chmod(info.Mode()); err != nil {
		return "", err
	}
	now, err := f.Stat()
	if err == nil && now.Mode() != info.Mode() {
		return fmt.Sprintf("its mode %v could not be preserved otherwise", info.Mode()), nil
	}
	return "", err
}

// lockDirectory locks the directory against other writers; the lock ends with the process. With wait it blocks: the
// system serves those who wait in order, in this process and in others. Without, or if the file system has no locks, it
// doesn't.
func lockDirectory(dir *os.File, wait bool) (unlock func(), ok bool) {
	lock := filelock.Lock
	if wait {
		lock = filelock.WaitLock
	}
	switch err := lock(dir); {
	case err == nil:
		return func() { filelock.Unlock(dir) }, true
	case errors.Is(err, filelock.ErrLocked):
		return nil, false
	}
	return func() {}, true
}

// claim locks a temporary file until release, also after it was closed. It is not ok if the file was swept before.
func claim(f *os.File) (release func(), ok bool) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return func() {}, true
	}
	claimed := os.NewFile(uintptr(fd), f.Name())
	var st unix.Stat_t
	swept := errors.Is(filelock.Lock(claimed), filelock.ErrLocked) || unix.Fstat(fd, &st) == nil && st.Nlink == 0
	if swept {
		claimed.Close()
		return nil, false
	}
	return func() { claimed.Close() }, true
}

// removeUnclaimed removes a temporary file that no writer has claimed.
func removeUnclaimed(dir *os.Root, name string) {
	f, err := dir.OpenFile(name, os.O_WRONLY|nonblock|noFollow, 0)
	if err != nil { // gone, or another user's, who will sweep it
		return
	}
	defer f.Close()
	if !errors.Is(filelock.Lock(f), filelock.ErrLocked) {
		dir.Remove(name)
	}
}

// syncDirectory syncs a rename. Some file systems don't support it.
func syncDirectory(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EBADF) {
		return nil
	}
	return err
}

func renameFile(dir *os.Root, from, to string) error { return dir.Rename(from, to) }
