package undo

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// readSmall saves the content of a regular file, without following a link. A small one takes three system calls.
func readSmall(path string, size, limit int64, b *batch) (hash, error) {
	if size > packed || size > limit {
		return readAny(path, size, limit, b)
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return readAny(path, size, limit, b) // an old kernel, or an error that readAny explains
	}
	defer unix.Close(fd)
	if int64(cap(b.room)) <= size {
		b.room = make([]byte, max(2*size, 64<<10))
	}
	n, err := unix.Read(fd, b.room[:size+1])
	if err != nil || int64(n) != size {
		return readAny(path, size, limit, b) // it changed, or the file system returns short reads
	}
	return b.add(b.room[:n])
}

// clone makes to share the bytes of from, without copying them. It fails on file systems without support, such as ext4.
func clone(to, from *os.File) error {
	return unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
}

// free returns the number of free bytes of the file system of a directory, which need not exist.
func free(dir string) int64 {
	var st unix.Statfs_t
	for unix.Statfs(dir, &st) != nil {
		if dir == filepath.Dir(dir) {
			return 1 << 62
		}
		dir = filepath.Dir(dir)
	}
	return int64(st.Bavail) * int64(st.Bsize)
}
