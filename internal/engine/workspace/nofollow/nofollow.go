// Package nofollow opens canonical paths without following any link, so that the checked path is the one that is
// opened.
//
//	f, err := nofollow.Open("/home/me/app/main.go") // regular files only, never blocks
//	d, err := nofollow.OpenDir("/home/me/app")      // a handle for relative access
//
// It resolves nothing: workspace.Resolve makes a path canonical, and a link found here has appeared since then
// (ErrChanged).
package nofollow

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/engine/sorted"
)

// ErrChanged reports that part of a checked path has become a link, or another directory, since it was checked.
var ErrChanged = errors.New("the path changed since it was checked; try again")

// NotRegularError reports that a path isn't a regular file.
type NotRegularError struct {
	Path string
	Kind string // "a directory", "a named pipe (FIFO)", …
}

func (e *NotRegularError) Error() string {
	return fmt.Sprintf("%s is %s, not a regular file", e.Path, e.Kind)
}

// Kind names the type of a mode: "a file", "a directory", "a character device", ….
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe (FIFO)"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeCharDevice != 0:
		return "a character device"
	case mode&fs.ModeDevice != 0:
		return "a block device"
	}
	return "neither a file nor a directory"
}

// Open opens a regular file for reading. For anything else it returns a *NotRegularError: opening a FIFO or a device
// never blocks and has no effect on it.
func Open(abs string) (*os.File, error) {
	return OpenFile(abs, os.O_RDONLY)
}

// OpenFile opens an existing regular file with flag (without O_CREATE: package atomicfile creates files).
func OpenFile(abs string, flag int) (*os.File, error) {
	// Checking first prevents an effect of opening a driver or a FIFO; the second check of the handle decides.
	info, err := Lstat(abs)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, irregular(abs, info)
	}
	f, err := openRegular(abs, flag)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !opened.Mode().IsRegular() {
		err = irregular(abs, opened)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func irregular(abs string, info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		return changed("open", abs)
	}
	return &NotRegularError{Path: abs, Kind: Kind(info.Mode())}
}

func changed(op, abs string) error {
	return &fs.PathError{Op: op, Path: abs, Err: ErrChanged}
}

// Lstat describes abs, which may itself be a link; a link above it is ErrChanged.
func Lstat(abs string) (fs.FileInfo, error) {
	dir, base := filepath.Split(abs)
	if base == "" {
		return os.Lstat(abs)
	}
	return lstat(abs, dir, base)
}

// ReadDir lists a directory in the order of names; see os.ReadDir.
func ReadDir(abs string) ([]fs.DirEntry, error) {
	d, err := OpenDir(abs)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	f, err := d.Open(".")
	if err != nil {
		return nil, renamed(err, abs)
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	sorted.By(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, renamed(err, abs)
}

// renamed replaces the path in an error about a handle by the caller's.
func renamed(err error, abs string) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: abs, Err: p.Err}
	}
	return err
}

// Cause returns an error without the operation and the path that package os adds, for a sentence that names them.
func Cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// walkDir opens a directory component by component, and checks each one before entering it. It is the portable
// implementation.
func walkDir(abs string) (*os.Root, error) {
	top := filepath.VolumeName(abs) + string(filepath.Separator)
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Split(filepath.Clean(abs)[len(top):], string(filepath.Separator)) {
		if name == "" {
			continue
		}
		next, err := Enter(root, name)
		root.Close()
		if err != nil {
			return nil, renamed(err, abs)
		}
		root = next
	}
	return root, nil
}

// Enter opens a directory in root by a plain name. It must not be a link.
func Enter(root *os.Root, name string) (*os.Root, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, changed("open", name)
	}
	next, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := next.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = changed("open", name)
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// walkOpen opens a file beneath walkDir's handle.
func walkOpen(abs string, flag int) (*os.File, error) {
	dir, err := walkDir(filepath.Dir(abs))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	base := filepath.Base(abs)
	before, err := dir.Lstat(base)
	if err != nil {
		return nil, renamed(err, abs)
	}
	f, err := dir.OpenFile(base, flag|nonblock, 0)
	if err != nil {
		return nil, renamed(err, abs)
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = changed("open", abs)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// walkLstat is Lstat beneath walkDir's handle.
func walkLstat(abs, dir, base string) (fs.FileInfo, error) {
	d, err := walkDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	info, err := d.Lstat(base)
	return info, renamed(err, abs)
}
