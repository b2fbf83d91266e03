//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

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

// lockDirectory waits for the directory's advisory lock, which ends with the process. On a file system without locks it does
// nothing.
func lockDirectory(dir *os.File, wait time.Duration) (unlock func(), err error) {
	fd := int(dir.Fd())
	pause := 200 * time.Microsecond
	for end := time.Now().Add(wait); ; {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { unix.Flock(fd, unix.LOCK_UN) }, nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return func() {}, nil
		case time.Now().After(end):
			return nil, fmt.Errorf("another writer has locked the directory for %v. Try again", wait)
		}
		time.Sleep(pause)
		pause = min(2*pause, 10*time.Millisecond)
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

// linkNew is renameNew without system support: a hard link never replaces a file.
func linkNew(dir *os.Root, from, to string) error {
	err := dir.Link(from, to)
	if err == nil {
		return dir.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := dir.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return dir.Rename(from, to) // a file system without links
}
