package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// covers are the empty files that are mounted over hidden ones, each its own so
// that it is known which were opened.
type covers struct {
	dir    string // on the disk, for bubblewrap; "": they are in memory
	hidden []string
	events int // inotify descriptor, or -1
	err    error
}

// mostCovers is how many hidden files have a cover of their own; the others
// share one.
const mostCovers = 64

// shared is the name of that cover.
const sharedCover = "shared"

// newCovers makes the covers in a new directory. It is nil if there is nothing
// to cover.
func newCovers(dir string, hidden []string) *covers {
	if len(hidden) == 0 {
		return nil
	}
	c := &covers{dir: dir, hidden: hidden, events: -1}
	if c.err = unix.Mkdir(dir, 0o700); c.err == nil {
		c.err = c.fill(dir)
	}
	return c
}

// fill makes the covers in a directory and watches it.
func (c *covers) fill(dir string) error {
	for i := range min(len(c.hidden), mostCovers+1) {
		if err := unix.Mknod(c.file(dir, i), unix.S_IFREG|0o444, 0); err != nil {
			return err
		}
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
	return nil
}

// coverInMemory puts covers over hidden files. They are in a file system of
// their own, which is mounted on a directory for a moment: on a disk it would
// take longer to make them than to run most commands. The directory was opened,
// because something else may be mounted above it. The thread must be in a mount
// namespace of its own.
func coverInMemory(at int, hidden []string) (*covers, error) {
	mount, err := memoryAt(at)
	if err != nil {
		return nil, err
	}
	defer unix.Close(mount)
	dir := "/proc/thread-self/fd/" + strconv.Itoa(mount)
	c := &covers{hidden: hidden, events: -1}
	err = c.fill(dir)
	if err == nil { // what is cloned from it is read-only too
		err = unix.MountSetattr(mount, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	}
	for i := 0; i < len(hidden) && err == nil; i++ {
		if err = attachCover(c.file(dir, i), hidden[i]); err != nil {
			err = fmt.Errorf("%s: %w", hidden[i], err)
		}
	}
	if err == nil {
		err = unix.Unmount(dir, unix.MNT_DETACH)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// memoryAt mounts an empty file system in memory on a directory, and returns its
// root.
func memoryAt(at int) (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigSetString(fs, "mode", "0700"); err != nil {
		return -1, err
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return -1, err
	}
	if err := unix.MoveMount(mount, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		unix.Close(mount)
		return -1, err
	}
	return mount, nil
}

// attachCover mounts a cover over a hidden file. What does not exist any more
// needs none.
func attachCover(cover, path string) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, cover, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return fmt.Errorf("open its cover: %w", err)
	}
	defer unix.Close(fd)
	if err := attach(fd, path); err != nil && err != unix.ENOENT && err != unix.ENOTDIR {
		return err
	}
	return nil
}

// file is the cover of the i-th hidden file in a directory.
func (c *covers) file(dir string, i int) string {
	if i >= mostCovers {
		return dir + "/" + sharedCover
	}
	return dir + "/" + strconv.Itoa(i)
}

// coverMounts are the covers of hidden files that exist, for bubblewrap.
func (b *Box) coverMounts() [][2]string {
	if b.covers == nil {
		return nil
	}
	var out [][2]string
	for i, path := range b.covers.hidden {
		if _, err := os.Lstat(path); err == nil {
			out = append(out, [2]string{b.covers.file(b.covers.dir, i), path})
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
	if c != nil && c.dir != "" {
		os.RemoveAll(c.dir)
	}
}
