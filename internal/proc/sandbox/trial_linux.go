package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// overlays mounts the layers of a trial at their own paths and makes everything
// else read-only. It returns the mounted layers, opened. The thread must have
// entered namespaces, see Apart, and have the capabilities of ForTrial: the
// kernel works in the uppers with the rights of whoever mounts.
func (b *Box) overlays(lowers []openPath) ([]openPath, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("make mounts private: %w", err)
	}
	layers := slices.Clone(b.spec.Trial.Layers)
	slices.SortStableFunc(layers, func(x, y Overlay) int { return cmp.Compare(len(x.Lower), len(y.Lower)) }) // parents first
	// All of them before the first is attached: it may cover another's upper.
	var trees []openPath
	defer func() { closeAll(trees) }()
	for _, l := range layers {
		i := slices.IndexFunc(lowers, func(o openPath) bool { return o.path == l.Lower })
		if i < 0 {
			continue // it has gone, or nobody can enter it
		}
		make := func() (int, error) { return overlay(lowers[i].fd, l) }
		if l.Instead {
			make = func() (int, error) { return instead(l) }
		}
		fd, err := make()
		if err != nil {
			return nil, fmt.Errorf("overlay %s: %w", l.Lower, err)
		}
		trees = append(trees, openPath{l.Lower, fd})
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return nil, fmt.Errorf("make mounts read-only: %w", err)
	}
	var mounted []openPath
	for _, t := range trees {
		if err := attachAt(t.fd, t.path); err != nil {
			closeAll(mounted)
			return nil, fmt.Errorf("overlay %s: %w", t.path, err)
		}
		fd, err := openPlain(t.path)
		if err != nil {
			closeAll(mounted)
			return nil, fmt.Errorf("overlay %s: %w", t.path, err)
		}
		mounted = append(mounted, openPath{t.path, fd})
	}
	return mounted, nil
}

// conceal hides the uppers of all trials where a lower contains them.
func (b *Box) conceal() error {
	for _, dir := range b.spec.Trial.Conceal {
		err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, "mode=0555,size=4k")
		if err != nil && err != unix.ENOENT {
			return fmt.Errorf("conceal %s: %w", dir, err)
		}
	}
	return nil
}

// instead opens an upper to be mounted as it is.
func instead(l Overlay) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, l.Upper, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return -1, err
	}
	return fd, unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV})
}

// openPlain opens a path that contains no link.
func openPlain(path string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

// attachAt mounts a tree at a path that contains no link.
func attachAt(tree int, path string) error {
	at, err := openPlain(path)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// overlay mounts a layer nowhere yet. The lower is the one that was opened.
func overlay(lower int, l Overlay) (int, error) {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("no overlayfs: %w", err)
	}
	defer unix.Close(fs)
	for _, kv := range [][2]string{
		{"source", "trial"}, {"lowerdir", "/proc/thread-self/fd/" + strconv.Itoa(lower)}, {"upperdir", l.Upper}, {"workdir", l.Work},
	} {
		value := kv[1]
		if kv[0] != "source" {
			value = escaped(value)
		}
		if err := unix.FsconfigSetString(fs, kv[0], value); err != nil {
			return -1, fmt.Errorf("%s %s: %w%s", kv[0], kv[1], err, complaint(fs))
		}
	}
	for _, flag := range []string{"userxattr", "volatile"} {
		if err := unix.FsconfigSetFlag(fs, flag); err != nil {
			return -1, fmt.Errorf("%s: %w%s", flag, err, complaint(fs))
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("%w%s", err, complaint(fs))
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

// escaped is a path as overlayfs reads it.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`).Replace(path)
}

// complaint is what the kernel says about a mount that failed.
func complaint(fs int) string {
	var b [1024]byte
	n, err := unix.Read(fs, b[:])
	if err != nil || n <= 0 {
		return ""
	}
	return " (" + strings.TrimSpace(string(b[:n])) + ")"
}
