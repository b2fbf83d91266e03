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
	roots := append(slices.Clone(b.spec.Roots), b.spec.Write...)
	real := map[string]string{}
	for _, path := range b.spec.Protect {
		for _, r := range roots {
			rel, err := filepath.Rel(r, path)
			if err != nil || !filepath.IsLocal(rel) {
				continue
			}
			if _, ok := real[r]; !ok {
				real[r], _ = filepath.EvalSymlinks(r)
			}
			if real[r] != "" {
				b.protectBelow(real[r], strings.Split(rel, "/"), write)
				break
			}
		}
	}
	slices.Sort(b.protect)
	b.protect = slices.Compact(b.protect)
	b.watched = unplanted(b.protect)
}

// protectBelow walks down to a protected path. A link on the way is protected
// itself, and then what it leads to; where the path ends early, what could be
// made there.
func (b *Box) protectBelow(at string, parts []string, write []string) {
	for i, part := range parts {
		at = filepath.Join(at, part)
		if holding(at, write) == "" {
			return // out of reach anyway
		}
		st, err := os.Lstat(at)
		switch {
		case errors.Is(err, os.ErrNotExist):
			if h := hold(at); h != nil {
				b.held = append(b.held, h)
				b.protect = append(b.protect, at)
			}
			return
		case err != nil:
			return
		case st.Mode()&os.ModeSymlink != 0:
			b.protect = append(b.protect, at)
			if at, err = filepath.EvalSymlinks(at); err != nil {
				return
			}
		}
		if i == len(parts)-1 {
			if h := hold(at); h != nil { // another box's placeholder
				b.held = append(b.held, h)
			}
			if holding(at, write) != "" {
				b.protect = append(b.protect, at)
			}
		}
	}
}

// unplanted is what a git folder does not have and cannot have a placeholder
// for, because git would read it: the name of another folder to take settings
// and hooks from. It is removed when a command has made it.
func unplanted(protect []string) (watched []string) {
	for _, p := range protect {
		if path := filepath.Join(filepath.Dir(p), "commondir"); filepath.Base(p) == "config" && isGit(filepath.Dir(p)) {
			if _, err := os.Lstat(path); err != nil {
				watched = append(watched, path)
			}
		}
	}
	return watched
}

// Uproot removes what a command must not have planted and could not be kept
// from.
func (b *Box) Uproot() {
	for _, path := range b.watched {
		if _, err := os.Lstat(path); err == nil && os.RemoveAll(path) == nil {
			b.tell("making " + path)
		}
	}
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
