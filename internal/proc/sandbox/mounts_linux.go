package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// remount makes all mounts read-only but the writable paths, and those below
// them that are protected again. The thread must have entered namespaces, see
// Apart.
func (b *Box) remount(open []openPath) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := readOnlyBut(open); err != nil {
		return err
	}
	var write []string
	for _, o := range open {
		write = append(write, o.path)
	}
	return b.mountProtected(write)
}

// readOnlyBut makes every mount read-only, and puts what is writable back on
// top as it was.
func readOnlyBut(open []openPath) error {
	var trees []openPath
	defer func() { closeAll(trees) }()
	for _, o := range open {
		if o.path == "/" {
			return nil
		}
		fd, err := unix.OpenTree(o.fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
		if err != nil {
			return fmt.Errorf("keep %s writable: %w", o.path, err)
		}
		trees = append(trees, openPath{o.path, fd})
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make mounts read-only: %w", err)
	}
	for i, t := range trees {
		if err := unix.MoveMount(t.fd, "", open[i].fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
			return fmt.Errorf("keep %s writable: %w", t.path, err)
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
			if err := bind(at, false); err != nil && err != unix.ENOENT {
				return fmt.Errorf("protect %s: pin %s: %w", path, at, err)
			}
			pinned[at] = true
		}
		if pinned[path] {
			continue
		}
		// What has gone meanwhile is nothing to protect, unless it is a
		// placeholder for what must not be made.
		if err := bind(path, true); err != nil && (err != unix.ENOENT || b.holds(path)) {
			return fmt.Errorf("protect %s: %w", path, err)
		}
		pinned[path] = true
	}
	return nil
}
