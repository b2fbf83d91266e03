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

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// covers are the files and directories that are mounted over others. Empty files have separate ones, so that it is
// known which were opened.
type covers struct {
	dir    string   // on the disk, for bubblewrap; "": they are in memory
	list   []Cover  // in order, without unwritable ones: see Box.protect
	names  []string // of the covers in a directory
	events int      // inotify descriptor, or -1
	err    error
}

func newCovers(ordered []Cover) *covers {
	list := slices.DeleteFunc(ordered, func(c Cover) bool { return c.As == Unwritable })
	return &covers{list: list, names: make([]string, len(list)), events: -1}
}

// maxCovers is how many empty files have their own cover; the others share one.
const maxCovers = 64

// sharedCover is the name of that cover, and shownPrefix the beginning of the names of replaced files.
const (
	sharedCover = "shared"
	shownPrefix = "shown-"
)

// fill creates the covers in a new directory and watches it. Unreadable paths get a socket, which can't be opened, not
// even by root, or a directory that only root can read. A file that looks empty could be committed, deployed or copied
// over another.
func (c *covers) fill(dir string) (err error) {
	empty := 0
	for i, cover := range c.list {
		name := strconv.Itoa(i)
		switch cover.As {
		case Unreadable:
			if st, missing := os.Lstat(cover.Path); missing == nil && st.IsDir() {
				name = "directory"
				err = unix.Mkdir(dir+"/"+name, 0)
			} else {
				name = "file"
				err = unix.Mknod(dir+"/"+name, unix.S_IFSOCK, 0)
			}
		case Empty:
			if empty++; empty > maxCovers {
				name = sharedCover
			}
			err = unix.Mknod(dir+"/"+name, unix.S_IFREG|0o444, 0)
		case Replaced:
			name = shownPrefix + name
			err = os.WriteFile(dir+"/"+name, []byte(cover.Text), 0o444)
		case Closed:
			name = "closed" + name
			err = c.fillClosed(dir+"/"+name, cover.Path)
		}
		if err != nil && err != unix.EEXIST {
			return err
		}
		c.names[i] = name
	}
	if len(Covered(c.list, Empty)) == 0 {
		return nil
	}
	// Without the watch the same files are hidden, but the result doesn't mention it.
	if fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err == nil {
		if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN); err != nil {
			unix.Close(fd)
		} else {
			c.events = fd
		}
	}
	return nil
}

// shown returns what is shown in a closed directory.
func (c *covers) shown(closed string) []string {
	return slices.DeleteFunc(Covered(c.list, Shown), func(path string) bool {
		return path == closed || !names.Below(path, closed)
	})
}

// fillClosed creates the cover of a closed directory, with a place for everything in it that is shown.
func (c *covers) fillClosed(cover, path string) error {
	if err := unix.Mkdir(cover, 0o755); err != nil {
		return err
	}
	for _, s := range c.shown(path) {
		var st unix.Stat_t
		if unix.Lstat(s, &st) != nil {
			continue
		}
		at := cover + s[len(path):]
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			err = os.MkdirAll(at, 0o755)
		} else if err == nil {
			err = unix.Mknod(at, unix.S_IFREG|0o444, 0)
		}
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// attachClosed mounts the cover of a closed directory, and what is shown in it.
func (c *covers) attachClosed(cover, path string) error {
	var shown []openPath
	defer func() { closeAll(shown) }()
	for _, s := range c.shown(path) {
		if tree, err := readOnlyTree(s); err == nil { // otherwise a place without content
			shown = append(shown, openPath{s, tree})
		}
	}
	err := attachCover(cover, path)
	for _, s := range shown {
		if err == nil {
			err = attach(s.fd, s.path)
		}
	}
	return err
}

// cover mounts the covers. They are in a separate file system, which is mounted on a directory for a moment: creating
// them on a disk would take longer than most commands. The thread must be in its own mount namespace.
func (b *Box) cover() error {
	if len(b.spec.Covers) == 0 {
		return nil
	}
	list := Ordered(b.spec.Covers)
	unreadable := oneByOne(Covered(list, Unreadable))
	list = slices.DeleteFunc(list, func(c Cover) bool { return c.As == Unreadable })
	c := newCovers(append(Unreadable.Cover(unreadable...), list...))
	err := pin(unreadable, b.movable)
	if err == nil {
		err = c.mountInMemory()
	}
	if err != nil {
		c.close()
		return fmt.Errorf("hide files: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.covers = c
	return nil
}

func (c *covers) mountInMemory() error {
	at, err := unix.Open(deviceDir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) // any directory, for a moment
	if err != nil {
		return err
	}
	defer unix.Close(at)
	mount, err := memoryAt(at)
	if err != nil {
		return err
	}
	defer unix.Close(mount)
	dir := "/proc/thread-self/fd/" + strconv.Itoa(mount)
	if err = c.fill(dir); err == nil { // so that clones are read-only too
		err = unix.MountSetattr(mount, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	}
	for i := 0; i < len(c.list) && err == nil; i++ {
		if err = c.attach(dir, i); err != nil {
			err = fmt.Errorf("%s: %w", c.list[i].Path, err)
		}
	}
	return errors.Join(err, unix.Unmount(dir, unix.MNT_DETACH))
}

// attach mounts the i-th cover of a directory.
func (c *covers) attach(dir string, i int) error {
	cover, path := dir+"/"+c.names[i], c.list[i].Path
	switch c.list[i].As {
	case Closed:
		return c.attachClosed(cover, path)
	case Shown: // with its directory
		return nil
	}
	err := attachCover(cover, path)
	if err == unix.EACCES && c.list[i].As == Unreadable { // the command can't reach it either
		return nil
	}
	return err
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
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|
		unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return -1, err
	}
	if err := unix.MoveMount(mount, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		unix.Close(mount)
		return -1, err
	}
	return mount, nil
}

// attachCover mounts a cover over a hidden file. A file that no longer exists is skipped.
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

// coverMounts returns the covers of the paths that exist, for bubblewrap.
func (b *Box) coverMounts() (out [][2]string, err error) {
	if b.covers == nil {
		return nil, nil
	}
	if b.covers.err != nil {
		return nil, fmt.Errorf("hide files: %w", b.covers.err)
	}
	for i, c := range b.covers.list {
		st, err := os.Lstat(c.Path)
		link := err == nil && c.As == Unreadable && st.Mode()&os.ModeSymlink != 0
		if err != nil || link || c.As == Shown { // bubblewrap can't mount on a link, and its target isn't denied
			continue
		}
		out = append(out, [2]string{b.covers.dir + "/" + b.covers.names[i], c.Path})
		if c.As != Closed {
			continue
		}
		for _, s := range b.covers.shown(c.Path) {
			if _, err := os.Lstat(s); err != nil {
				continue
			}
			before := out
			out = append(out, [2]string{s, s})
			for _, m := range before { // in what is shown they are visible again
				if names.Below(m[1], s) {
					out = append(out, m)
				}
			}
		}
	}
	return out, nil
}

// opened returns which hidden files were opened so far, and whether there were others.
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
			case e.Mask&unix.IN_ISDIR != 0: // every search opens directories
			case err == nil && i < len(c.list):
				paths = append(paths, c.list[i].Path)
			case strings.HasPrefix(string(name), shownPrefix):
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
