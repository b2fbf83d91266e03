package workspace

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adze-dev/adze/internal/atomicfile"
	"github.com/adze-dev/adze/internal/workspace/nofollow"
	"github.com/adze-dev/adze/internal/workspace/realpath"
)

// Path is a name made canonical. It is a value: it holds no handle, and every
// use opens Abs without following a link, so a link that appeared since Resolve
// is an error (ErrChanged) and never a way out.
type Path struct {
	Abs    string // absolute, links resolved, the name as the disk spells it
	Rel    string // for display: below the project, else Abs
	Root   string // the root it is in; empty outside
	Given  string // as it came
	Exists bool   // when it was resolved
}

// ErrChanged says that a checked path has become a link since.
var ErrChanged = nofollow.ErrChanged

// ErrLoop says that links lead in a circle.
var ErrLoop = realpath.ErrLoop

// NotRegularError says that a path holds something other than a regular file.
type NotRegularError = nofollow.NotRegularError

// Inside reports whether the path is in a root.
func (p Path) Inside() bool { return p.Root != "" }

func (p Path) String() string { return p.Rel }

// Open opens a regular file for reading; a directory, FIFO, socket or device is a
// *NotRegularError at once.
func (p Path) Open() (*os.File, error) { return nofollow.Open(p.Abs) }

// Stat describes what stands there, a FIFO or device without touching it.
func (p Path) Stat() (fs.FileInfo, error) {
	info, err := nofollow.Lstat(p.Abs)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, &fs.PathError{Op: "stat", Path: p.Abs, Err: ErrChanged}
	}
	return info, err
}

// ReadDir lists a directory in the order of names. Links in it are listed as such.
func (p Path) ReadDir() ([]fs.DirEntry, error) { return nofollow.ReadDir(p.Abs) }

// OpenDir opens a directory to work beneath: os.Root follows no link out of it.
func (p Path) OpenDir() (*os.Root, error) { return nofollow.OpenDir(p.Abs) }

// Join names something below the path without looking at the disk; the result
// is canonical only if name is one plain component that is not a link, as
// ReadDir gives them.
func (p Path) Join(name string) Path {
	below := p
	below.Abs = filepath.Join(p.Abs, name)
	below.Given = below.Abs
	switch {
	case p.Rel == p.Abs:
		below.Rel = below.Abs
	case p.Rel == ".":
		below.Rel = name
	default:
		below.Rel = p.Rel + "/" + name
	}
	return below
}

// Kind names what a mode is: "a file", "a directory", "a named pipe (FIFO)", ….
func Kind(mode fs.FileMode) string { return nofollow.Kind(mode) }

// Write gives the file its content, whole or not at all; see atomicfile.Write.
// A link that appeared since Resolve is refused.
func (p Path) Write(content []byte, o atomicfile.Options) (atomicfile.Outcome, error) {
	o.Canonical = true
	return atomicfile.Write(p.Abs, content, o)
}
