package search

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// kind is the type of a directory entry.
type kind uint8

const (
	unknownKind kind = iota // the file system doesn't report it; use stat
	regular
	directory
	link
	other // devices, sockets, pipes: never searched
	shut  // a directory that Tree does not enter
)

// dirHandle is an open directory: the walk's interface to the operating system.
type dirHandle interface {
	// list reads all entries but "." and "..", unsorted.
	list(into *dirEntries) error
	// open opens a regular file in it, without following a link of that name and without blocking.
	open(s *scratch, name []byte) (file, error)
	// stamp returns the version of the directory when it was opened; false: it isn't known.
	stamp() (stamp, bool)
	// enter opens a subdirectory, without following a link of that name.
	enter(name string) (dirHandle, error)
	// stat describes an entry; with follow, the target of a link.
	stat(name []byte, follow bool) (kind, time.Time, error)
	// describe returns everything that shows a change of an entry, without following links.
	describe(name []byte) (Stat, error)
	close()
}

// errSkip reports a directory that isn't searched, such as /proc during a walk.
var errSkip = errors.New("a pseudo file system; name it to search it")

// dirEntries contains the entries of a directory. The names end in a NUL byte, which the kernel requires, and share one
// buffer that is reused.
type dirEntries struct {
	names   []byte
	entries []dirEntry
	buf     []byte
}

type dirEntry struct {
	start, end int32
	kind       kind
	state      uint8   // an ignore.State
	who        members // that visit it
}

func (l *dirEntries) reset() { l.names, l.entries = l.names[:0], l.entries[:0] }

func (l *dirEntries) add(name string, k kind) {
	start := int32(len(l.names))
	l.names = append(append(l.names, name...), 0)
	l.entries = append(l.entries, dirEntry{start: start, end: int32(len(l.names)) - 1, kind: k})
}

// name returns an entry's name; its capacity includes the NUL byte.
func (l *dirEntries) name(e dirEntry) []byte { return l.names[e.start:e.end] }

// file is an open file.
type file interface {
	io.ReadCloser
	io.ReaderAt
}

// scratch has the buffers that a worker reuses from file to file.
type scratch struct {
	file rawFile
}

func kindOf(m fs.FileMode) kind {
	switch {
	case m.IsRegular():
		return regular
	case m.IsDir():
		return directory
	case m&fs.ModeSymlink != 0:
		return link
	}
	return other
}

// portableDir reads directories with package os, on systems other than Linux; on Linux tests compare it with the fast
// one.
type portableDir struct{ path string }

func openPortable(path string, _ bool) (dirHandle, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, &fs.PathError{Op: "search", Path: path, Err: fs.ErrInvalid}
	}
	return portableDir{path}, nil
}

func (f portableDir) list(into *dirEntries) error {
	dir, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer dir.Close()
	into.reset()
	for {
		entries, err := dir.ReadDir(1024)
		for _, e := range entries {
			into.add(e.Name(), kindOf(e.Type()))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (portableDir) stamp() (stamp, bool) { return stamp{}, false }

func (f portableDir) open(_ *scratch, name []byte) (file, error) {
	return os.Open(f.path + string(filepath.Separator) + string(name))
}

func (f portableDir) enter(name string) (dirHandle, error) {
	return portableDir{f.path + string(filepath.Separator) + name}, nil
}

func (f portableDir) stat(name []byte, follow bool) (kind, time.Time, error) {
	path := f.path + string(filepath.Separator) + string(name)
	look := os.Lstat
	if follow {
		look = os.Stat
	}
	st, err := look(path)
	if err != nil {
		return other, time.Time{}, err
	}
	return kindOf(st.Mode()), st.ModTime(), nil
}

func (f portableDir) describe(name []byte) (Stat, error) {
	info, err := os.Lstat(f.path + string(filepath.Separator) + string(name))
	if err != nil {
		return Stat{}, err
	}
	return StatOf(info), nil
}

func (portableDir) close() {}

// StatOf returns the Stat of a FileInfo.
func StatOf(info fs.FileInfo) Stat {
	st := Stat{Mode: info.Mode(), Size: info.Size(), Modified: info.ModTime().UnixNano()}
	st.Changed, st.Inode, st.Links = identity(info)
	return st
}
