package sandbox

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/sorted"
)

// overlays mounts the layers of a trial at their own paths and makes everything else read-only. It returns the mounted
// layers, opened. The thread must have entered namespaces, see Apart, and have the capabilities of a trial: the kernel
// works in the uppers with the rights of the process that mounts them.
func (b *Box) overlays() (mounted []openPath, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("make mounts private: %w", err)
	}
	// All of them before the first is attached: it may cover another's upper.
	var trees []openPath
	defer func() { closeAll(trees) }()
	shown := map[string]bool{}
	for _, l := range b.spec.Trial.Layers {
		made, err := b.layer(l)
		shown[l.Lower] = l.Whole
		if trees = append(trees, made...); err != nil {
			return nil, fmt.Errorf("overlay %s: %w", l.Lower, err)
		}
	}
	for _, path := range b.spec.Trial.Show {
		tree, err := readOnlyTree(path)
		if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES || err == unix.ELOOP {
			continue // it no longer exists, or can't be entered
		}
		if err != nil {
			return nil, fmt.Errorf("show %s: %w", path, err)
		}
		trees, shown[path] = append(trees, openPath{path, tree}), true
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return nil, fmt.Errorf("make mounts read-only: %w", err)
	}
	// parents first
	sorted.By(trees, func(x, y openPath) int { return cmp.Compare(len(x.path), len(y.path)) })
	defer func() {
		if err != nil {
			closeAll(mounted)
		}
	}()
	for _, t := range trees {
		err := attachAt(t.fd, t.path)
		if _, pinned := b.spec.Pins[t.path]; err == unix.ENOENT && !pinned {
			continue // it no longer exists
		}
		if err != nil {
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

// layer makes the mounts of a layer, not attached yet. There are none for a cache that no longer exists, or can't be
// entered.
func (b *Box) layer(l Overlay) (trees []openPath, err error) {
	pin, pinned := b.spec.Pins[l.Lower]
	lower, err := openPlain(l.Lower)
	if err == unix.ENOENT && l.Instead { // an overlay has it
		fd, err := instead(l)
		if err != nil {
			return nil, err
		}
		return []openPath{{l.Lower, fd}}, nil
	}
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
	fd := -1
	if l.Instead {
		fd, err = instead(l)
	} else {
		os.RemoveAll(l.Work + "/work") // from a failed attempt
		fd, err = overlay(lower, l)
	}
	if err != nil {
		return nil, err
	}
	if l.Parts == nil && !l.Whole {
		return []openPath{{l.Lower, fd}}, nil
	}
	defer unix.Close(fd)
	return b.parts(l, fd)
}

// parts returns the mounts of parts of an overlay, which is mounted on an empty directory for a moment.
func (b *Box) parts(l Overlay, fd int) (trees []openPath, err error) {
	at := b.spec.Trial.Dir
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return nil, err
	}
	if l.Whole {
		tree, err := readOnlyTree(at)
		if err != nil {
			return nil, err
		}
		trees = append(trees, openPath{l.Lower, tree})
	}
	for _, part := range l.Parts {
		tree, err := unix.OpenTree(unix.AT_FDCWD, at+strings.TrimPrefix(part, l.Lower),
			unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
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

// conceal hides the uppers of all trials if a lower contains them.
func (b *Box) conceal() error {
	for _, dir := range b.spec.Trial.Conceal {
		err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY,
			"mode=0555,size=4k")
		if err != nil && err != unix.ENOENT {
			return fmt.Errorf("conceal %s: %w", dir, err)
		}
	}
	return nil
}

// instead opens an upper to be mounted directly.
func instead(l Overlay) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, l.Upper, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|
		unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return -1, err
	}
	return fd, unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV})
}

// readOnlyTree returns a path to be mounted elsewhere, with the mounts in it.
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

// overlay makes the overlay of a layer, not attached yet. The lower is given as a descriptor.
func overlay(lower int, l Overlay) (int, error) {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("no overlayfs: %w", err)
	}
	defer unix.Close(fs)
	for _, kv := range [][2]string{
		{"source", "trial"}, {"lowerdir", "/proc/thread-self/fd/" + strconv.Itoa(lower)}, {"upperdir", l.Upper},
		{"workdir", l.Work},
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

// escaped escapes a path for overlayfs.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`).Replace(path)
}

// complaint returns the kernel's message about a failed mount.
func complaint(fs int) string {
	var b [1024]byte
	n, err := unix.Read(fs, b[:])
	if err != nil || n <= 0 {
		return ""
	}
	return " (" + strings.TrimSpace(string(b[:n])) + ")"
}

// overlayfs doesn't rename a directory of a lower, and programs that take that for another file system copy it, or fail
// like git mv. So the listener handles renames. Most are left to the kernel. A directory of a lower is moved file by
// file, by a thread in the sandbox, which has the same permissions as the command.

// isRename reports whether a call is a rename.
func isRename(nr int32) bool { return slices.Contains(renames(), uintptr(nr)) }

func renames() []uintptr {
	return append([]uintptr{unix.SYS_RENAMEAT2}, renamesHere...)
}

// renaming are the arguments of a rename.
type renaming struct {
	from, to     string
	fromAt, toAt int32
	flags        uint32
}

// arguments reads the arguments.
func (s served) arguments() (r renaming, ok bool) {
	from, to := s.args[0], s.args[1]
	r.fromAt, r.toAt = unix.AT_FDCWD, unix.AT_FDCWD
	nr := uintptr(s.nr)
	if len(renamesHere) < 2 || nr != renamesHere[0] { // not rename, which only has the paths
		r.fromAt, from, r.toAt, to = int32(s.args[0]), s.args[1], int32(s.args[2]), s.args[3]
	}
	if nr == unix.SYS_RENAMEAT2 {
		r.flags = uint32(s.args[4])
	}
	if r.from, ok = s.text(from); !ok {
		return r, false
	}
	r.to, ok = s.text(to)
	return r, ok && s.valid()
}

// text reads a string of the caller. It may end with its memory page.
func (s served) text(at uint64) (string, bool) {
	const page = 4096
	var all []byte
	for len(all) <= page {
		part := make([]byte, page-at%page)
		n := s.read(part, at)
		if n <= 0 {
			return "", false
		}
		if i := bytes.IndexByte(part[:n], 0); i >= 0 {
			return string(append(all, part[:i]...)), true
		}
		all = append(all, part[:n]...)
		at += uint64(n)
	}
	return "", false
}

// rename handles a rename. done is false if the kernel should do it.
func (s served) rename() (done bool, err error) {
	r, ok := s.arguments()
	if !ok || r.flags&^unix.RENAME_NOREPLACE != 0 || r.from == "" || r.to == "" {
		return false, nil
	}
	if !s.lowerDir(r.fromAt, r.from) {
		return false, nil
	}
	from, a, ok := s.parent(r.fromAt, r.from)
	if !ok {
		return false, nil
	}
	defer unix.Close(from)
	to, b, ok := s.parent(r.toAt, r.to)
	if !ok {
		return false, nil
	}
	defer unix.Close(to)
	if !sameMount(from, to) || !s.valid() {
		return false, nil
	}
	result := make(chan error)
	go func() {
		// Never unlocked: the thread ends with the goroutine.
		runtime.LockOSThread()
		err := s.box.enterAgain()
		if err == nil {
			err = moveDir(from, a, to, b, uint(r.flags))
		}
		result <- err
	}()
	if err = <-result; err != nil {
		if _, ok := err.(unix.Errno); !ok {
			err = unix.EXDEV
		}
	}
	return true, err
}

// lowerDir reports whether a path of the caller is a directory in a lower: the listener sees those without the
// overlays.
func (s served) lowerDir(at int32, path string) bool {
	fd, err := s.openAt(at, path, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false
	}
	real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil || holding(real, s.box.spec.Trial.lowers()) == "" {
		return false
	}
	return unix.Lstat(real, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// parent opens the parent directory of a path of the caller.
func (s served) parent(at int32, path string) (fd int, name string, ok bool) {
	path = strings.TrimRight(path, "/")
	dir, name := ".", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		if dir, name = path[:i], path[i+1:]; dir == "" {
			dir = "/"
		}
	}
	if name == "" || name == "." || name == ".." {
		return -1, "", false
	}
	fd, err := s.openAt(at, dir, unix.O_PATH|unix.O_DIRECTORY)
	return fd, name, err == nil
}

// openAt opens a path as the caller would.
func (s served) openAt(at int32, path string, flags uint64) (int, error) {
	if strings.HasPrefix(path, "/") || at == unix.AT_FDCWD {
		return s.openFrom("", path, flags)
	}
	return s.openFrom("fd/"+strconv.Itoa(int(at)), path, flags)
}

func sameMount(a, b int) bool {
	var x, y unix.Statx_t
	if unix.Statx(a, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &x) != nil ||
		unix.Statx(b, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &y) != nil {
		return false
	}
	return x.Mask&y.Mask&unix.STATX_MNT_ID != 0 && x.Mnt_id == y.Mnt_id
}

// enterAgain puts another thread into the command's sandbox: its mounts, its rules and without capabilities.
func (b *Box) enterAgain() error {
	t := b.trial
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	if err := unix.Setns(t.mounts, unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := dropCapabilities(b.keptCapabilities(t.dir)); err != nil {
		return err
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(t.ruleset), 0, 0); errno != 0 {
		return errno
	}
	unix.Umask(0)
	return nil
}

// moveDir renames a directory, file by file if the kernel doesn't.
func moveDir(from int, a string, to int, b string, flags uint) error {
	err := unix.Renameat2(from, a, to, b, flags)
	if err != unix.EXDEV {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(from, a, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if flags&unix.RENAME_NOREPLACE == 0 {
		err := unix.Unlinkat(to, b, unix.AT_REMOVEDIR) // an empty directory may be replaced
		if err != nil && err != unix.ENOENT {
			return err
		}
	}
	if err := unix.Mkdirat(to, b, 0o700); err != nil {
		return err
	}
	if err := moveInto(from, a, to, b); err != nil {
		moveInto(to, b, from, a) // undo it
		unix.Unlinkat(to, b, unix.AT_REMOVEDIR)
		return err
	}
	copyDirMeta(from, a, to, b, &st)
	return unix.Unlinkat(from, a, unix.AT_REMOVEDIR)
}

// moveInto moves the content of one directory to another.
func moveInto(from int, a string, to int, b string) error {
	source, err := unix.Openat(from, a, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(source), filepath.Base(a))
	defer f.Close()
	target, err := unix.Openat(to, b, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(target)
	names, err := f.Readdirnames(-1)
	if err != nil {
		return unix.EIO
	}
	for _, name := range names {
		if err := moveDir(source, name, target, name, unix.RENAME_NOREPLACE); err != nil {
			return err
		}
	}
	return nil
}

// copyDirMeta copies the mode, the attributes and the times of a directory to another.
func copyDirMeta(from int, a string, to int, b string, st *unix.Stat_t) {
	source, err := unix.Openat(from, a, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(source)
	target, err := unix.Openat(to, b, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(target)
	var list [16 << 10]byte
	if n, err := unix.Flistxattr(source, list[:]); err == nil {
		for _, name := range strings.Split(string(list[:n]), "\x00") {
			value := make([]byte, 64<<10)
			if n, err := unix.Fgetxattr(source, name, value); name != "" && err == nil {
				unix.Fsetxattr(target, name, value[:n], 0)
			}
		}
	}
	unix.Fchmod(target, st.Mode&0o7777)
	times := [2]unix.Timespec{st.Atim, st.Mtim}
	unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(target), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
}
