package nofollow

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

const nonblock = unix.O_NONBLOCK

// resolve forbids all links, including magic links in /proc.
const resolve = unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// OpenDir opens a directory for relative access.
func OpenDir(abs string) (*os.Root, error) {
	fd, err := openat2(abs, unix.O_PATH|unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOSYS) {
		return walkDir(abs)
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	root, err := os.OpenRoot("/proc/self/fd/" + strconv.Itoa(fd))
	if errors.Is(err, fs.ErrNotExist) { // no /proc here
		return walkDir(abs)
	}
	return root, renamed(err, abs)
}

func openRegular(abs string, flag int) (*os.File, error) {
	fd, err := openat2(abs, flag|unix.O_NONBLOCK|unix.O_NOCTTY)
	if errors.Is(err, unix.ENOSYS) {
		return walkOpen(abs, flag)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), abs), nil
}

func lstat(abs, dir, base string) (fs.FileInfo, error) {
	// An O_PATH handle touches neither FIFO nor device. With O_NOFOLLOW a link at the end would be opened as such, but
	// RESOLVE_NO_SYMLINKS rejects it, so the last component is looked up relative to its directory.
	fd, err := openat2(filepath.Clean(dir), unix.O_PATH|unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOSYS) {
		return walkLstat(abs, dir, base)
	}
	if err != nil {
		return nil, renamed(err, abs)
	}
	defer unix.Close(fd)
	info, err := os.Lstat("/proc/self/fd/" + strconv.Itoa(fd) + "/" + base)
	if errors.Is(err, fs.ErrNotExist) {
		if _, noProc := os.Lstat("/proc/self/fd"); noProc != nil {
			return walkLstat(abs, dir, base)
		}
	}
	return info, renamed(err, abs)
}

func openat2(abs string, flag int) (int, error) {
	how := &unix.OpenHow{Flags: uint64(flag) | unix.O_CLOEXEC, Resolve: resolve}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, abs, how)
		switch {
		case err == nil:
			return fd, nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ELOOP):
			return -1, changed("open", abs)
		case errors.Is(err, unix.EPERM) && !openat2Works():
			return -1, unix.ENOSYS // a container's seccomp filter returns EPERM for unknown calls
		}
		return -1, &fs.PathError{Op: "open", Path: abs, Err: err}
	}
}

func openat2Works() bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

// Mode converts a mode of the kernel.
func Mode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	case unix.S_IFIFO:
		m |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		m |= fs.ModeSocket
	case unix.S_IFCHR:
		m |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		m |= fs.ModeDevice
	default:
		m |= fs.ModeIrregular
	}
	if mode&unix.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if mode&unix.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if mode&unix.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}
