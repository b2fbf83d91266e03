package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// remount makes all mounts read-only but the writable paths, and those below
// them that are protected again. The thread must have entered namespaces, see
// Apart.
func (b *Box) remount(write []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := readOnlyBut(write); err != nil {
		return err
	}
	return b.mountProtected(write)
}

// readOnlyBut makes every mount read-only, and puts what is writable back on
// top as it was.
func readOnlyBut(write []string) error {
	trees := map[string]int{}
	defer func() {
		for _, fd := range trees {
			unix.Close(fd)
		}
	}()
	for _, path := range write {
		if path == "/" {
			return nil
		}
		fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return fmt.Errorf("keep %s writable: %w", path, err)
		}
		trees[path] = fd
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make mounts read-only: %w", err)
	}
	for path, fd := range trees {
		if err := attach(fd, path); err != nil {
			return fmt.Errorf("keep %s writable: %w", path, err)
		}
	}
	return nil
}

// attach mounts a tree at a path that is not followed if it is a link.
func attach(fd int, path string) error {
	return unix.MoveMount(fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// bind mounts a path on itself. A mount point can be neither renamed nor
// removed nor replaced.
func bind(path string, readOnly bool) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if readOnly {
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return err
		}
	}
	return attach(fd, path)
}

// mountProtected makes protected paths read-only. Every folder between them
// and the writable one above becomes a mount point too: else .git could be
// moved away with its hooks and another put in its place.
func (b *Box) mountProtected(write []string) error {
	pinned := map[string]bool{}
	for _, path := range b.protect {
		root := holding(path, write)
		if root == "" || path == root {
			continue // not writable anyway
		}
		for _, at := range between(root, path) {
			if pinned[at] {
				continue
			}
			if err := bind(at, false); err != nil {
				return fmt.Errorf("protect %s: pin %s: %w", path, at, err)
			}
			pinned[at] = true
		}
		if pinned[path] {
			continue
		}
		if err := bind(path, true); err != nil {
			return fmt.Errorf("protect %s: %w", path, err)
		}
		pinned[path] = true
	}
	return nil
}
