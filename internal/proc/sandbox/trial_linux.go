package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// overlays mounts the layers of a trial at their own paths and makes everything
// else read-only. It returns the mounted layers, opened. The thread must have
// entered namespaces, see Apart, and have the capabilities of a trial: the kernel
// works in the uppers with the rights of the process that mounts them.
func (b *Box) overlays() (mounted []openPath, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("make mounts private: %w", err)
	}
	if b.trialDir, err = openPlain(b.spec.Trial.Dir); err != nil {
		return nil, fmt.Errorf("open %s: %w", b.spec.Trial.Dir, err)
	}
	// All of them before the first is attached: it may cover another's upper.
	var trees []openPath
	defer func() { closeAll(trees) }()
	shown := map[string]bool{}
	for _, l := range b.spec.Trial.Layers {
		made, err := b.layer(l)
		if trees = append(trees, made...); err != nil {
			return nil, fmt.Errorf("overlay %s: %w", l.Lower, err)
		}
	}
	for _, path := range b.spec.Trial.Show {
		tree, err := readOnlyTree(path)
		if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES || err == unix.ELOOP {
			continue // it has gone, or nobody can enter it
		}
		if err != nil {
			return nil, fmt.Errorf("show %s: %w", path, err)
		}
		trees, shown[path] = append(trees, openPath{path, tree}), true
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return nil, fmt.Errorf("make mounts read-only: %w", err)
	}
	slices.SortStableFunc(trees, func(x, y openPath) int { return cmp.Compare(len(x.path), len(y.path)) }) // parents first
	defer func() {
		if err != nil {
			closeAll(mounted)
		}
	}()
	for _, t := range trees {
		if err := attachAt(t.fd, t.path); err != nil {
			return mounted, fmt.Errorf("overlay %s: %w", t.path, err)
		}
		if shown[t.path] {
			continue
		}
		fd, err := openPlain(t.path)
		if err != nil {
			return mounted, fmt.Errorf("overlay %s: %w", t.path, err)
		}
		mounted = append(mounted, openPath{t.path, fd})
	}
	return mounted, nil
}

// layer makes the mounts of a layer, attached nowhere yet. There are none for a
// cache that has gone, or that nobody can enter.
func (b *Box) layer(l Overlay) (trees []openPath, err error) {
	pin, pinned := b.spec.Pins[l.Lower]
	lower, err := openPlain(l.Lower)
	if !pinned && (err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(lower)
	var st unix.Stat_t
	if err := unix.Fstat(lower, &st); err != nil {
		return nil, err
	}
	if pinned && pin != (ID{Dev: st.Dev, Ino: st.Ino}) {
		return nil, errors.New("it was replaced since the session started. Start a new session if that is right")
	}
	os.RemoveAll(l.Work + "/work") // of a try that failed
	fd := -1
	if l.Instead {
		fd, err = instead(l)
	} else {
		fd, err = overlay(lower, l)
	}
	if err != nil {
		return nil, err
	}
	if l.Parts == nil {
		return []openPath{{l.Lower, fd}}, nil
	}
	defer unix.Close(fd)
	return b.parts(l, fd)
}

// parts are the mounts of parts of an overlay. It is mounted on an empty directory
// for a moment.
func (b *Box) parts(l Overlay, fd int) (trees []openPath, err error) {
	at := b.spec.Trial.Dir
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return nil, err
	}
	for _, part := range l.Parts {
		tree, err := unix.OpenTree(unix.AT_FDCWD, at+strings.TrimPrefix(part, l.Lower), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES {
			continue
		}
		if err != nil {
			return trees, fmt.Errorf("%s: %w", part, err)
		}
		trees = append(trees, openPath{part, tree})
	}
	return trees, unix.Unmount(at, unix.MNT_DETACH)
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

// readOnlyTree is a path to be mounted elsewhere, with what is mounted in it.
func readOnlyTree(path string) (int, error) {
	fd, err := openPlain(path)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	tree, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return -1, err
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		unix.Close(tree)
		return -1, err
	}
	return tree, nil
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
