package search

import (
	"encoding/binary"
	"io"
	"io/fs"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// linuxDir is an open descriptor. Files are opened relative to it, so that the kernel doesn't resolve the path again
// and no directory above can be replaced by a link meanwhile.
type linuxDir struct {
	fd      int
	version stamp
	solid   bool // a short read is the end of a file here, and times show all changes of a directory
}

// openHandle opens a directory by its path: the start of a walk, where links are followed and any file system is
// allowed because the user or the model named it, or one below it.
func openHandle(path string, named bool) (dirHandle, error) {
	flags := unix.O_DIRECTORY
	if !named {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := openat(unix.AT_FDCWD, append([]byte(path), 0), flags)
	if err != nil {
		return nil, err
	}
	f := &linuxDir{fd: fd}
	if err := f.identify(nil); err != nil && !(named && err == errSkip) {
		unix.Close(fd)
		return nil, err
	}
	return f, nil
}

// identify determines the type of the directory's file system, from its parent if they are on the same one.
func (f *linuxDir) identify(parent *linuxDir) error {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return err
	}
	f.version = stamp{uint64(st.Dev), st.Ino, st.Mtim.Nano(), st.Ctim.Nano()}
	if parent != nil && parent.version.device == f.version.device {
		f.solid = parent.solid
		return nil
	}
	var sfs unix.Statfs_t
	if err := unix.Fstatfs(f.fd, &sfs); err != nil {
		return nil
	}
	switch uint32(sfs.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, zfsMagic:
		f.solid = true
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.CGROUP_SUPER_MAGIC,
		unix.CGROUP2_SUPER_MAGIC,
		unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.SELINUX_MAGIC, unix.BINFMTFS_MAGIC,
		unix.PSTOREFS_MAGIC:
		// Files there may block or be endless.
		return errSkip
	}
	return nil
}

const zfsMagic = 0x2fc12fc1

// openat takes a name that ends in NUL.
func openat(dir int, name []byte, flags int) (int, error) {
	flags |= unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	for {
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(&name[0])), uintptr(flags),
			0, 0, 0)
		if errno == 0 {
			return int(fd), nil
		}
		if errno != unix.EINTR {
			return -1, errno
		}
	}
}

func (f *linuxDir) list(into *dirEntries) error {
	into.reset()
	if into.buf == nil {
		into.buf = make([]byte, 64<<10)
	}
	for {
		n, _, errno := unix.Syscall(unix.SYS_GETDENTS64, uintptr(f.fd), uintptr(unsafe.Pointer(&into.buf[0])),
			uintptr(len(into.buf)))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return errno
		}
		if n == 0 {
			return nil
		}
		into.parse(into.buf[:n])
	}
}

// parse reads the records of getdents64: inode, offset, length (2 bytes at 16), type (at 18), name with NUL (at 19).
func (l *dirEntries) parse(buf []byte) {
	for len(buf) > 19 {
		size := int(binary.NativeEndian.Uint16(buf[16:]))
		name := buf[19:size]
		n := 0
		for name[n] != 0 {
			n++
		}
		k := kindOfDirent(buf[18])
		buf = buf[size:]
		if n == 1 && name[0] == '.' || n == 2 && name[0] == '.' && name[1] == '.' {
			continue
		}
		start := int32(len(l.names))
		l.names = append(l.names, name[:n+1]...)
		l.entries = append(l.entries, dirEntry{start: start, end: start + int32(n), kind: k})
	}
}

func kindOfDirent(t byte) kind {
	switch t {
	case unix.DT_REG:
		return regular
	case unix.DT_DIR:
		return directory
	case unix.DT_LNK:
		return link
	case unix.DT_UNKNOWN:
		return unknownKind
	}
	return other
}

func (f *linuxDir) enter(name string) (dirHandle, error) {
	fd, err := openat(f.fd, append([]byte(name), 0), unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	child := &linuxDir{fd: fd}
	if err := child.identify(f); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return child, nil
}

func (f *linuxDir) stamp() (stamp, bool) { return f.version, f.solid }

func (f *linuxDir) open(s *scratch, name []byte) (file, error) {
	fd, err := openat(f.fd, name[:len(name)+1], unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	s.file = rawFile{fd: fd, solid: f.solid}
	return &s.file, nil
}

func (f *linuxDir) stat(name []byte, follow bool) (kind, time.Time, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if follow {
		flags = 0
	}
	var st unix.Statx_t
	_, _, errno := unix.Syscall6(unix.SYS_STATX, uintptr(f.fd), uintptr(unsafe.Pointer(&name[0])),
		uintptr(flags|unix.AT_STATX_DONT_SYNC),
		unix.STATX_TYPE|unix.STATX_MTIME, uintptr(unsafe.Pointer(&st)), 0)
	if errno == unix.ENOSYS || errno == unix.EPERM { // an old kernel, or a sandbox that doesn't allow the call
		return f.oldStat(string(name), flags)
	}
	if errno != 0 {
		return other, time.Time{}, errno
	}
	return kindOfMode(uint32(st.Mode)), time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec)), nil
}

func (f *linuxDir) oldStat(name string, flags int) (kind, time.Time, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(f.fd, name, &st, flags); err != nil {
		return other, time.Time{}, err
	}
	return kindOfMode(st.Mode), time.Unix(st.Mtim.Unix()), nil
}

func (f *linuxDir) describe(name []byte) (Stat, error) {
	var st unix.Statx_t
	_, _, errno := unix.Syscall6(unix.SYS_STATX, uintptr(f.fd), uintptr(unsafe.Pointer(&name[0])),
		unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_DONT_SYNC,
		unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(&st)), 0)
	if errno == unix.ENOSYS || errno == unix.EPERM { // as in stat
		return f.oldDescribe(string(name))
	}
	if errno != 0 {
		return Stat{}, errno
	}
	return Stat{
		Mode: nofollow.Mode(uint32(st.Mode)), Size: int64(st.Size), Inode: st.Ino, Links: st.Nlink,
		Modified: st.Mtime.Sec*1e9 + int64(st.Mtime.Nsec), Changed: st.Ctime.Sec*1e9 + int64(st.Ctime.Nsec),
	}, nil
}

func (f *linuxDir) oldDescribe(name string) (Stat, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(f.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Stat{}, err
	}
	return Stat{
		Mode: nofollow.Mode(st.Mode), Size: st.Size, Inode: st.Ino, Links: uint32(st.Nlink), Modified: st.Mtim.Nano(),
		Changed: st.Ctim.Nano(),
	}, nil
}

func kindOfMode(mode uint32) kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return regular
	case unix.S_IFDIR:
		return directory
	case unix.S_IFLNK:
		return link
	}
	return other
}

func (f *linuxDir) close() { unix.Close(f.fd) }

// rawFile reads without the poller of package os, which would register every file.
type rawFile struct {
	fd    int
	solid bool
	done  bool
}

func (r *rawFile) Read(p []byte) (int, error) {
	if r.done {
		return 0, io.EOF
	}
	for {
		n, _, errno := unix.Syscall(unix.SYS_READ, uintptr(r.fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return 0, errno
		case n == 0:
			return 0, io.EOF
		}
		if r.solid && int(n) < len(p) {
			r.done = true
			return int(n), io.EOF
		}
		return int(n), nil
	}
}

// ReadAt reads elsewhere than Read, up to the end of the file.
func (r *rawFile) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		more, err := unix.Pread(r.fd, p[n:], at+int64(n))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, err
		case more == 0:
			return n, io.EOF
		}
		n += more
	}
	return n, nil
}

func (r *rawFile) Close() error { return unix.Close(r.fd) }

func identity(info fs.FileInfo) (changed int64, inode uint64, links uint32) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano(), st.Ino, uint32(st.Nlink)
	}
	return 0, 0, 0
}
