package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	deviceDir = "/dev"
	terminals = "/dev/pts"
	opener    = "/dev/ptmx" // of new terminals
	console   = "/dev/console"
)

// harmless are the devices that lead nowhere.
var harmless = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// ownDevices leaves the command with the harmless devices, its controlling
// terminal, and pseudoterminals of its own: a read-only mount doesn't keep a
// command from writing to a disk, and a process that opens another's terminal reads
// what the user types there. What programs share in /dev/shm is its own too. Devices that Spec.Write names are mounts of their
// own by now, and stay.
func (b *Box) ownDevices(dir string) error {
	keep := map[string]int{}
	defer func() {
		for _, fd := range keep {
			unix.Close(fd)
		}
	}()
	for _, path := range append([]string{"/dev/tty"}, harmless...) {
		fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return fmt.Errorf("keep %s: %w", path, err)
		}
		keep[path] = fd
	}
	switch err := unix.MountSetattr(unix.AT_FDCWD, deviceDir, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NODEV}); err {
	case nil:
		for path, fd := range keep {
			if err := attach(fd, path); err != nil {
				return fmt.Errorf("keep %s: %w", path, err)
			}
		}
	case unix.EINVAL, unix.ENOENT: // it is no mount: nodev would apply to all of the file system
	default:
		return fmt.Errorf("hide other devices: %w", err)
	}
	if err := b.ownTerminals(); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(sharedDir, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || !b.ownShared(dir) {
		return nil
	}
	if err := unix.Mount("tmpfs", sharedDir, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_NODEV, "mode=1777"); err != nil {
		return fmt.Errorf("hide other programs' shared memory: %w", err)
	}
	b.shared = true
	return nil
}

// ownTerminals mounts fresh pseudoterminals, or an empty directory if that
// fails. A container's console is a terminal from outside.
func (b *Box) ownTerminals() error {
	if err := cover("/dev/null", console); err != nil {
		return fmt.Errorf("hide the console: %w", err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(terminals, &st); err != nil || st.Type != unix.DEVPTS_SUPER_MAGIC {
		return nil // there are none
	}
	if unix.Mount("devpts", terminals, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620") == nil {
		b.terminals = true
		if err := cover(terminals+"/ptmx", opener); err != nil {
			return fmt.Errorf("mount new terminals: %w", err)
		}
		return nil
	}
	if err := unix.Mount("tmpfs", terminals, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_NODEV|unix.MS_RDONLY, "mode=0555,size=4k"); err != nil {
		return fmt.Errorf("hide other terminals: %w", err)
	}
	return nil
}

// cover mounts a file over another, if that exists and is no link: a link to
// what is hidden leads to what hides it.
func cover(with, path string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return nil
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, with, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return attach(fd, path)
}

// devices are those that a command can write to. Terminals are among them if
// they are the command's own.
func (b *Box) devices() []string {
	out := append([]string{}, harmless...)
	if b.shared {
		out = append(out, sharedDir)
	}
	if b.spec.Mode == ReadOnly {
		return out
	}
	if out = append(out, "/dev/tty"); b.hasTerminals() {
		out = append(out, opener, terminals)
	}
	return out
}

// hasTerminals reports whether the command has pseudoterminals of its own.
// Bubblewrap mounts them too.
func (b *Box) hasTerminals() bool { return b.terminals || b.Wrapped() }

// readable is all that a command reads where no mount can hide devices: all but
// them. Links are left out, and what they lead to is in the list.
func readable() (paths []string) {
	entries, _ := os.ReadDir("/")
	for _, e := range entries {
		if path := filepath.Join("/", e.Name()); path != deviceDir && e.Type()&os.ModeSymlink == 0 {
			paths = append(paths, path)
		}
	}
	return append(append(paths, harmless...), "/dev/tty", sharedDir, "/dev/mqueue", "/dev/hugepages")
}
