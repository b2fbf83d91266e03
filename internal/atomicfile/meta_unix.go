//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	nonblock = unix.O_NONBLOCK
	noFollow = unix.O_NOFOLLOW
)

// keep gives the new file the owner, extended attributes and mode of the old one, and returns what can't be kept, in words.
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

// alive reports whether a process exists, of any user.
func alive(pid int) bool {
	return pid > 0 && !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}

// lockDirectory locks the directory against other writers; the lock ends with the process. With wait it blocks: the system
// serves those who wait in order, in this process and in others. Without, or if the file system has no locks, it doesn't.
func lockDirectory(dir *os.File, wait bool) (unlock func(), ok bool) {
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	fd := int(dir.Fd())
	switch err := flock(fd, how); {
	case err == nil:
		return func() { unix.Flock(fd, unix.LOCK_UN) }, true
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, false
	}
	return func() {}, true
}

func flock(fd, how int) error {
	for {
		if err := unix.Flock(fd, how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// claim locks a temporary file until release, also after it was closed. It is not ok if the file was swept before.
func claim(f *os.File) (release func(), ok bool) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return func() {}, true
	}
	var st unix.Stat_t
	swept := errors.Is(flock(fd, unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) || unix.Fstat(fd, &st) == nil && st.Nlink == 0
	if swept {
		unix.Close(fd)
		return nil, false
	}
	return func() { unix.Close(fd) }, true
}

// removeUnclaimed removes a temporary file that no writer has claimed.
func removeUnclaimed(dir *os.Root, name string) {
	f, err := dir.OpenFile(name, os.O_WRONLY|nonblock|noFollow, 0)
	if err != nil { // gone, or another user's, who will sweep it
		return
	}
	defer f.Close()
	if !errors.Is(flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
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
