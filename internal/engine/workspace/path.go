package workspace

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/atomicfile"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
	"github.com/adze-dev/adze/internal/engine/workspace/realpath"
)

// Path is a canonical path. It is a value without a handle. Every use opens Abs without following links, so that a link
// that appeared since Resolve is an error (ErrChanged).
type Path struct {
	Abs    string // absolute, links resolved, spelled as on disk
	Rel    string // for display: relative to the project if it is inside, otherwise Abs
	Root   string // the root that contains it; empty outside
	Given  string // the name as given, absolute
	Exists bool   // when it was resolved
}

// ErrChanged reports that a checked path has become a link since.
var ErrChanged = nofollow.ErrChanged

// ErrLoop reports a loop of links.
var ErrLoop = realpath.ErrLoop

// NotRegularError reports that a path isn't a regular file.
type NotRegularError = nofollow.NotRegularError

// Inside reports whether the path is in a root.
func (p Path) Inside() bool { return p.Root != "" }

func (p Path) String() string { return p.Rel }

// Open opens a regular file for reading. For a directory, FIFO, socket or device it returns a *NotRegularError.
func (p Path) Open() (*os.File, error) { return nofollow.Open(p.Abs) }

// Stat describes the path, without opening a FIFO or device.
func (p Path) Stat() (fs.FileInfo, error) {
	info, err := nofollow.Lstat(p.Abs)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, &fs.PathError{Op: "stat", Path: p.Abs, Err: ErrChanged}
	}
	return info, err
}

// ReadDir lists a directory in the order of names. Links in it are listed as such.
func (p Path) ReadDir() ([]fs.DirEntry, error) { return nofollow.ReadDir(p.Abs) }

// OpenDir opens a directory for relative access: os.Root follows no link out of it.
func (p Path) OpenDir() (*os.Root, error) { return nofollow.OpenDir(p.Abs) }

// Join returns a path below p without accessing the disk; the result is canonical only if name is one plain component
// that isn't a link, as from ReadDir.
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

// Kind names the type of a mode: "a file", "a directory", "a named pipe (FIFO)", ….
func Kind(mode fs.FileMode) string { return nofollow.Kind(mode) }

// Write writes the file atomically; see atomicfile.Write. A link that appeared since Resolve is an error.
func (p Path) Write(content []byte, o atomicfile.Options) (atomicfile.Outcome, error) {
	o.Canonical = true
	return atomicfile.Write(p.Abs, content, o)
}

// NameError reports an invalid name of a path: empty, with a NUL or a line break, or not UTF-8.
type NameError struct {
	Name    string
	Problem string
}

func (e *NameError) Error() string {
	if e.Name == "" {
		return "the path is empty; name a file or a directory"
	}
	return fmt.Sprintf("path %q %s", e.Name, e.Problem)
}

func checkName(name string) error {
	switch {
	case name == "":
		return &NameError{}
	case strings.ContainsRune(name, 0):
		return &NameError{Name: name, Problem: "contains a NUL byte"}
	case strings.ContainsAny(name, "\n\r"):
		return &NameError{Name: name, Problem: "contains a line break"}
	case !utf8.ValidString(name):
		return &NameError{Name: name, Problem: "is not valid UTF-8"}
	}
	return nil
}

// cutHome removes a leading ~/, which only shells expand.
func cutHome(name string) (rest string, ok bool) {
	if name == "~" {
		return "", true
	}
	return strings.CutPrefix(name, "~/")
}

// Record is what a session has read of a file, in storable form.
type Record struct {
	Path   string
	Hash   string // in hex; "": nothing is known about the file anymore
	Lines  int
	Whole  bool
	Opaque bool
	Read   [][2]int // first and last line of each range, if not Whole
}

// Take returns the records that changed since the last call, sorted by path, for the paths that of accepts.
func (s *Seen) Take(of func(path string) bool) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Record
	for _, path := range slices.Sorted(maps.Keys(s.fresh)) {
		if !of(path) {
			continue
		}
		delete(s.fresh, path)
		e, ok := s.files[path]
		if !ok {
			out = append(out, Record{Path: path})
			continue
		}
		f := e.Value.(*seenFile)
		r := Record{
			Path: path, Hash: hex.EncodeToString(f.hash[:]), Lines: f.lines, Whole: f.whole, Opaque: f.opaque,
		}
		for _, lines := range f.read {
			if !f.whole {
				r.Read = append(r.Read, [2]int{lines.First, lines.Last})
			}
		}
		out = append(out, r)
	}
	return out
}

// Restore adds a record of an earlier session. A file that has changed since counts as changed, because its hash
// differs. One whose hash is invalid must be read again.
func (s *Seen) Restore(r Record) {
	hash, err := hex.DecodeString(r.Hash)
	if err != nil || len(hash) != len(Hash{}) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.at(r.Path, Hash(hash))
	f.opaque, f.whole, f.lines, f.read = r.Opaque, r.Whole, r.Lines, nil
	for _, lines := range r.Read {
		f.read = f.read.add(Range{lines[0], lines[1]})
	}
	delete(s.fresh, r.Path)
}
