package trial

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// MostContent is the maximum size of a file that Before and After return.
const MostContent = 16 << 20

// Before returns the content of a file in the workspace, or the target of a link. It doesn't follow links.
func (t *Trial) Before(path string) ([]byte, error) {
	return t.content(path, func(l layer) string { return l.Lower })
}

// After returns the content of a file as the trial left it.
func (t *Trial) After(path string) ([]byte, error) {
	return t.content(path, func(l layer) string { return l.Upper })
}

func (t *Trial) content(path string, root func(layer) string) ([]byte, error) {
	i, rel, ok := t.find(path)
	if !ok {
		return nil, fmt.Errorf("read %s: it is not in the workspace", path)
	}
	dir, err := openBelow(root(t.layers[i]), filepath.Dir(rel))
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	defer dir.Close()
	name := filepath.Base(rel)
	st, ok := statAt(dir, name)
	if !ok || isWhiteout(st) {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return []byte(readlinkAt(dir, name)), nil
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	case st.Size > MostContent:
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("larger than %d MB", MostContent>>20)}
	}
	f, err := openAt(dir, name, unix.O_RDONLY)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MostContent))
}

// find returns the layer of a path, and the path in it. Git directories may be in a root.
func (t *Trial) find(path string) (layer int, rel string, ok bool) {
	best := -1
	for i, l := range t.layers {
		if names.Below(path, l.Lower) && (best < 0 || len(l.Lower) > len(t.layers[best].Lower)) {
			best = i
		}
	}
	if best < 0 {
		return 0, "", false
	}
	rel, ok = names.Rel(path, t.layers[best].Lower)
	return best, rel, ok
}

// openDir opens a directory that isn't a link, to read names.
func openDir(at int, name string) (*os.File, error) {
	fd, err := openRetry(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

func openDirAt(dir *os.File, name string) (*os.File, error) { return openDir(int(dir.Fd()), name) }

// openClosed opens a directory of an upper, and makes it readable for its owner until the walk has ended.
func (f *found) openClosed(dir *os.File, name string) (*os.File, error) {
	in, err := openDirAt(dir, name)
	if !errors.Is(err, fs.ErrPermission) {
		return in, err
	}
	restore, err := loosened(dir, name)
	if err != nil {
		return nil, err
	}
	f.restore = append(f.restore, restore)
	return openDirAt(dir, name)
}

// loosened gives the owner all rights on a directory. restore restores its mode.
func loosened(dir *os.File, name string) (restore func(), err error) {
	fd, err := openRetry(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = unix.Chmod(fdPath(f), st.Mode&0o7777|0o700)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() {
		unix.Chmod(fdPath(f), st.Mode&0o7777)
		f.Close()
	}, nil
}

// openAt opens a file that isn't a link.
func openAt(dir *os.File, name string, flags int) (*os.File, error) {
	fd, err := openRetry(int(dir.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func openRetry(at int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(at, name, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// openBelow opens a directory below a root, without following links.
func openBelow(root, rel string) (*os.File, error) {
	top, err := openRetry(unix.AT_FDCWD, root, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	defer unix.Close(top)
	return openBeneath(top, rel)
}

func openBeneath(top int, rel string) (*os.File, error) {
	how := unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH |
			unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	}
	for {
		fd, err := unix.Openat2(top, rel, &how)
		switch err {
		case unix.EINTR, unix.EAGAIN:
			continue
		case unix.EACCES: // it can be used without reading it
			if how.Flags&unix.O_PATH == 0 {
				how.Flags |= unix.O_PATH
				continue
			}
		case nil:
			return os.NewFile(uintptr(fd), rel), nil
		}
		return nil, err
	}
}

func statAt(dir *os.File, name string) (*unix.Stat_t, bool) {
	st := &unix.Stat_t{}
	err := unix.Fstatat(int(dir.Fd()), name, st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err == nil
}

func readlinkAt(dir *os.File, name string) string {
	b := make([]byte, 4096)
	n, err := unix.Readlinkat(int(dir.Fd()), name, b)
	if err != nil {
		return ""
	}
	return string(b[:n])
}

// isWhiteout reports whether a file in an upper marks a deleted one.
func isWhiteout(st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0
}

// opaque reports whether a directory in an upper replaces the lower one.
func opaque(path string) bool {
	var b [4]byte
	n, err := unix.Lgetxattr(path, overlayPrefix+"opaque", b[:])
	return err == nil && n == 1 && b[0] == 'y'
}

// overlayPrefix is the prefix of overlayfs' own attributes.
const overlayPrefix = "user.overlay."

// same reports whether two files have the same content, or two links the same target, and whether their attributes
// differ.
func (p *pair) same(name string, s *step) (content, attributes bool) {
	u, l := s.Upper, s.Lower
	if u.is(unix.S_IFLNK) {
		return readlinkAt(p.upper, name) == readlinkAt(p.lower, name), false
	}
	if !u.is(unix.S_IFREG) {
		return false, false
	}
	a, err := openAt(p.upper, name, unix.O_RDONLY)
	if err != nil {
		return u.Size == l.Size && u.Mtime == l.Mtime, false // it can't be read
	}
	defer a.Close()
	b, err := openAt(p.lower, name, unix.O_RDONLY)
	if err != nil {
		return u.Size == l.Size && u.Mtime == l.Mtime, false
	}
	defer b.Close()
	return u.Size == l.Size && sameContent(a, b), s.compare(a, b)
}

func sameContent(a, b *os.File) bool {
	const chunk = 64 << 10
	x, y := make([]byte, chunk), make([]byte, chunk)
	for {
		n, err := io.ReadFull(a, x)
		m, _ := io.ReadFull(b, y)
		if n != m || !bytes.Equal(x[:n], y[:m]) {
			return false
		}
		if err != nil {
			return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}

// compare records the extended attributes of two open files if they differ, and reports whether they do.
func (s *step) compare(upper, lower *os.File) bool {
	a, b := readAttributes(upper), readAttributes(lower)
	if maps.EqualFunc(a, b, bytes.Equal) {
		return false
	}
	s.NewAttrs, s.OldAttrs = a, b
	return true
}

// readAttributes returns the extended attributes of an open file, without overlayfs' own. Unreadable ones are omitted.
func readAttributes(f *os.File) map[string][]byte {
	fd := int(f.Fd())
	n, err := unix.Flistxattr(fd, nil)
	if err != nil || n == 0 {
		return nil
	}
	list := make([]byte, n+256)
	if n, err = unix.Flistxattr(fd, list); err != nil {
		return nil
	}
	out := map[string][]byte{}
	for _, name := range strings.Split(strings.TrimRight(string(list[:n]), "\x00"), "\x00") {
		if strings.HasPrefix(name, overlayPrefix) || name == "" {
			continue
		}
		value := make([]byte, 64<<10)
		if n, err := unix.Fgetxattr(fd, name, value); err == nil {
			out[name] = value[:n:n]
		}
	}
	return out
}

// copyAttributes copies the attributes of one directory to another, as far as allowed.
func copyAttributes(from, to string) {
	a, err := openDir(unix.AT_FDCWD, from)
	if err != nil {
		return
	}
	defer a.Close()
	for name, value := range readAttributes(a) {
		unix.Lsetxattr(to, name, value, 0)
	}
}

// stripped removes overlayfs' own attributes.
func stripped(path string) {
	n, err := unix.Llistxattr(path, nil)
	if err != nil || n == 0 {
		return
	}
	list := make([]byte, n+256)
	if n, err = unix.Llistxattr(path, list); err != nil {
		return
	}
	for _, name := range strings.Split(string(list[:n]), "\x00") {
		if strings.HasPrefix(name, overlayPrefix) {
			unix.Lremovexattr(path, name)
		}
	}
}

// differences describes the differences of two directories.
func differences(u, l *unix.Stat_t) (out []string) {
	if u.Mode != l.Mode {
		out = append(out, fmt.Sprintf("mode %04o → %04o", l.Mode&0o7777, u.Mode&0o7777))
	}
	if u.Uid != l.Uid || u.Gid != l.Gid {
		out = append(out, "owner")
	}
	return out
}
