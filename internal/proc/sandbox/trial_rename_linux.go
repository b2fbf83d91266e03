package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// overlayfs doesn't rename a directory of a lower, and programs that take that for
// another file system copy it, or fail as git mv does. So the listener looks at
// renames. All but those of such a directory go on as they are. Such a directory
// is moved file by file, by a thread in the sandbox: it can do what the command
// can, and no more.

// isRename reports whether a call is one.
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

// arguments reads them.
func (s served) arguments() (r renaming, ok bool) {
	from, to := s.args[0], s.args[1]
	r.fromAt, r.toAt = unix.AT_FDCWD, unix.AT_FDCWD
	nr := uintptr(s.nr)
	if len(renamesHere) < 2 || nr != renamesHere[0] { // not rename, which has only the paths
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

// text reads a string of the caller. It may end with the page that it is in.
func (s served) text(at uint64) (string, bool) {
	const page = 4096
	var all []byte
	for len(all) <= page {
		part := make([]byte, page-at%page)
		local := []unix.Iovec{{Base: &part[0], Len: uint64(len(part))}}
		remote := []unix.RemoteIovec{{Base: uintptr(at), Len: len(part)}}
		n, err := unix.ProcessVMReadv(int(s.pid), local, remote, 0)
		if err != nil || n <= 0 {
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

// rename answers a rename. done is false if the kernel is to do it.
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

// lowerDir reports whether a path of the caller is a directory that is in a lower:
// the listener sees those as they are without the overlays.
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

// parent opens the directory that a path of the caller is in.
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
	if unix.Statx(a, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &x) != nil || unix.Statx(b, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &y) != nil {
		return false
	}
	return x.Mask&y.Mask&unix.STATX_MNT_ID != 0 && x.Mnt_id == y.Mnt_id
}

// enterAgain puts another thread where the command is: its mounts, its rules and
// without capabilities.
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
		moveInto(to, b, from, a) // as it was
		unix.Unlinkat(to, b, unix.AT_REMOVEDIR)
		return err
	}
	copyDirMeta(from, a, to, b, &st)
	return unix.Unlinkat(from, a, unix.AT_REMOVEDIR)
}

// moveInto moves what is in one directory to another.
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

// copyDirMeta gives a directory the mode, the attributes and the times of another.
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
