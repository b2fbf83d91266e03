package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// covers are the empty files that are mounted over hidden ones, each its own so
// that it is known which were opened.
type covers struct {
	dir    string
	hidden []string
	events int // inotify descriptor, or -1
	err    error
}

// mostCovers is how many hidden files have a cover of their own; the others
// share one.
const mostCovers = 64

// shared is the name of that cover.
const sharedCover = "shared"

// coversAt are the covers in a directory. It is nil if there is nothing to
// cover.
func coversAt(dir string, hidden []string) *covers {
	if len(hidden) == 0 {
		return nil
	}
	return &covers{dir: dir, hidden: hidden, events: -1}
}

// newCovers makes the covers in a new directory.
func newCovers(dir string, hidden []string) *covers {
	c := coversAt(dir, hidden)
	if c == nil {
		return nil
	}
	if c.err = unix.Mkdir(dir, 0o700); c.err != nil {
		return c
	}
	for i := range hidden {
		if i > mostCovers {
			break
		}
		fd, err := unix.Open(c.file(i), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o444)
		if err != nil {
			c.err = err
			return c
		}
		unix.Close(fd)
	}
	// Without the watch the command is hidden the same files, and the result
	// doesn't say so.
	if fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err == nil {
		if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN); err != nil {
			unix.Close(fd)
		} else {
			c.events = fd
		}
	}
	return c
}

// file is the cover of the i-th hidden file.
func (c *covers) file(i int) string {
	if i >= mostCovers {
		return filepath.Join(c.dir, sharedCover)
	}
	return filepath.Join(c.dir, strconv.Itoa(i))
}

// mount puts the covers over the hidden files. The thread must be in a mount
// namespace of its own. What does not exist any more needs no cover.
func (c *covers) mount() error {
	if c == nil {
		return nil
	}
	if c.err != nil {
		return fmt.Errorf("hide files: %w", c.err)
	}
	for i, path := range c.hidden {
		if err := c.mountOne(c.file(i), path); err != nil && err != unix.ENOENT && err != unix.ENOTDIR {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	return nil
}

func (c *covers) mountOne(cover, path string) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, cover, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return fmt.Errorf("open its cover: %w", err) // not ENOENT: the file would stay in sight
	}
	defer unix.Close(fd)
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOEXEC}); err != nil {
		return fmt.Errorf("make its cover read-only: %w", err)
	}
	return attach(fd, path)
}

// coverMounts are the covers of hidden files that exist, for bubblewrap.
func (b *Box) coverMounts() [][2]string {
	if b.covers == nil {
		return nil
	}
	var out [][2]string
	for i, path := range b.covers.hidden {
		if _, err := os.Lstat(path); err == nil {
			out = append(out, [2]string{b.covers.file(i), path})
		}
	}
	return out
}

func (b *Box) coversErr() error {
	switch {
	case len(b.spec.Limits.Hide) > 0 && b.covers == nil:
		return errors.New("hide files: no temp directory")
	case b.covers != nil && b.covers.err != nil:
		return fmt.Errorf("hide files: %w", b.covers.err)
	}
	return nil
}

// opened is which hidden files were opened so far, and how many others.
func (c *covers) opened() (paths []string, more bool) {
	if c == nil || c.events < 0 {
		return nil, false
	}
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.Read(c.events, buf)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			break
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			e := (*unix.InotifyEvent)(unsafe.Pointer(&buf[at]))
			name := buf[at+unix.SizeofInotifyEvent : at+unix.SizeofInotifyEvent+int(e.Len)]
			at += unix.SizeofInotifyEvent + int(e.Len)
			i, err := strconv.Atoi(strings.TrimRight(string(name), "\x00"))
			switch {
			case err == nil && i < len(c.hidden):
				paths = append(paths, c.hidden[i])
			case len(name) > 0 || e.Mask&unix.IN_Q_OVERFLOW != 0:
				more = true
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), more
}

// close releases the watch. The files are removed with the box.
func (c *covers) close() {
	if c != nil && c.events >= 0 {
		unix.Close(c.events)
		c.events = -1
	}
	if c != nil {
		os.RemoveAll(c.dir)
	}
}
