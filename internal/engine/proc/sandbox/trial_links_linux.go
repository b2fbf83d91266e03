package sandbox

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// In a user namespace, overlayfs shows a hard link to a file of a lower as another file: the old name has the inode
// number of the lower, and the new one that of the upper. Programs that compare them fail like git clone. Between two
// overlays there are no hard links, though both may be on one file system. So the listener records these links. The
// kernel makes all.

// isLink reports whether a call makes a hard link.
func isLink(nr int32) bool {
	return nr == unix.SYS_LINKAT || len(linksHere) > 0 && uintptr(nr) == linksHere[0]
}

// linksOtherwise reports whether a call makes a hard link that isn't as it would be outside the trial.
func (s served) linksOtherwise() bool {
	from, to, flags := s.args[0], s.args[1], uint64(0)
	fromAt, toAt := int32(unix.AT_FDCWD), int32(unix.AT_FDCWD)
	if s.nr == unix.SYS_LINKAT {
		fromAt, from, toAt, to, flags = int32(s.args[0]), s.args[1], int32(s.args[2]), s.args[3], s.args[4]
	}
	path, ok := s.text(from)
	target, ok2 := s.text(to)
	if !ok || !ok2 || path == "" || !s.valid() {
		return false
	}
	open := uint64(unix.O_PATH)
	if flags&unix.AT_SYMLINK_FOLLOW == 0 {
		open |= unix.O_NOFOLLOW
	}
	old, err := s.openAt(fromAt, path, open)
	if err != nil {
		return false
	}
	defer unix.Close(old)
	dir, name, ok := s.parent(toAt, target)
	if !ok {
		return false
	}
	defer unix.Close(dir)
	var shown, lower unix.Stat_t
	if unix.Fstatat(dir, name, &shown, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return false // it exists
	}
	real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(old))
	if err != nil {
		return false
	}
	if !sameMount(old, dir) {
		return sameOutside(filepath.Dir(real), dir)
	}
	return unix.Fstat(old, &shown) == nil && unix.Lstat(real, &lower) == nil && shown.Ino == lower.Ino &&
		shown.Dev != lower.Dev
}

// sameOutside reports whether a path and a directory of the sandbox are on the same mount outside of it.
func sameOutside(path string, dir int) bool {
	other, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(dir))
	if err != nil {
		return false
	}
	a, b := openOutside(path), openOutside(other)
	defer unix.Close(a)
	defer unix.Close(b)
	return sameMount(a, b)
}

// openOutside opens a directory outside the sandbox, or the nearest one above it that exists.
func openOutside(path string) int {
	for {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == nil || path == filepath.Dir(path) {
			return fd
		}
		path = filepath.Dir(path)
	}
}
