package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// placeholder stands where a protected path does not exist: only what exists
// can be mounted over, and what was absent may not be made either. It is an
// empty file or folder whose odd mode tells it from anybody's own. All boxes
// that need it hold a lock on it, and the last one removes it; one that a
// killed process has left is taken over by the next box there.
type placeholder struct {
	path string
	file *os.File
}

const (
	folderMark = 0o1500
	fileMark   = 0o1400
)

// holdProtected finds the protected paths that exist, and makes those that do
// not.
func (b *Box) holdProtected() {
	write := b.writable()
	for _, path := range b.spec.Protect {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err == nil {
			path = filepath.Join(dir, filepath.Base(path))
		}
		root := holding(path, write)
		if root == "" {
			continue
		}
		if path = firstMissing(path, root); path == "" {
			continue
		}
		if h := hold(path); h != nil {
			b.held = append(b.held, h)
		}
		if _, err := os.Lstat(path); err == nil && !slices.Contains(b.protect, path) {
			b.protect = append(b.protect, path)
		}
	}
	slices.Sort(b.protect)
}

// firstMissing is the topmost part of a path, below root, that does not exist;
// or the path, if it does. If a part is a file nothing can be made below it.
func firstMissing(path, root string) string {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return ""
	}
	at := root
	for _, part := range strings.Split(rel, "/") {
		at = filepath.Join(at, part)
		switch _, err := os.Lstat(at); {
		case errors.Is(err, os.ErrNotExist):
			return at
		case err != nil:
			return ""
		}
	}
	return path
}

// hold makes a placeholder, or joins those who hold it. It is nil if something
// else stands there, or nothing can be made there, by a command neither.
func hold(path string) *placeholder {
	for range 200 {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err == unix.ENOENT {
			if err = makeMark(path); err != nil && err != unix.EEXIST {
				return nil
			}
			continue
		}
		if err != nil {
			return nil
		}
		p := &placeholder{path, os.NewFile(uintptr(fd), path)}
		if !p.marked() {
			p.file.Close()
			return nil
		}
		if unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) == nil && p.stands() {
			return p
		}
		p.file.Close() // it is being removed this moment
		time.Sleep(time.Millisecond)
	}
	return nil
}

func makeMark(path string) error {
	if !isFileName(path) {
		return unix.Mkdir(path, folderMark)
	}
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, fileMark)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// isFileName guesses what a path that does not exist would be.
func isFileName(path string) bool {
	name := filepath.Base(path)
	return filepath.Ext(strings.TrimPrefix(name, ".")) != "" || name == "config"
}

// marked reports whether it looks like a placeholder.
func (p *placeholder) marked() bool {
	var st unix.Stat_t
	if unix.Fstat(int(p.file.Fd()), &st) != nil || int(st.Uid) != os.Geteuid() {
		return false
	}
	switch st.Mode {
	case unix.S_IFREG | fileMark:
		return st.Size == 0
	case unix.S_IFDIR | folderMark:
		names, _ := os.ReadDir(p.path)
		return len(names) == 0
	}
	return false
}

// stands reports whether the path still leads to it.
func (p *placeholder) stands() bool {
	now, err := os.Lstat(p.path)
	held, err2 := p.file.Stat()
	return err == nil && err2 == nil && os.SameFile(now, held)
}

// release removes it, unless somebody else still holds it.
func (p *placeholder) release() {
	defer p.file.Close()
	if unix.Flock(int(p.file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && p.marked() && p.stands() {
		os.Remove(p.path)
	}
}
