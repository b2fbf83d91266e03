package workspace

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

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

// ErrChanged reports that a checked path has become a link since.
var ErrChanged = nofollow.ErrChanged

// ErrLoop reports that links lead in a circle.
var ErrLoop = realpath.ErrLoop

// NotRegularError reports that a path holds something other than a regular file.
type NotRegularError = nofollow.NotRegularError

// Inside reports whether the path is in a root.
func (p Path) Inside() bool { return p.Root != "" }

func (p Path) String() string { return p.Rel }

// Open opens a regular file for reading; a directory, FIFO, socket or device is a
// *NotRegularError at once.
func (p Path) Open() (*os.File, error) { return nofollow.Open(p.Abs) }

// Stat describes what is there, a FIFO or device without touching it.
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

// NameError reports that a name cannot stand for a path: empty, relative, holding
// a NUL or a line break, or not UTF-8. Nothing on disk was looked at but, for
// Meant, whether it exists.
type NameError struct {
	Name    string
	Problem string
	Meant   string // the absolute path that was probably meant, if there is one
}

func (e *NameError) Error() string {
	if e.Name == "" {
		return "the path is empty; give an absolute path"
	}
	if e.Meant != "" {
		return fmt.Sprintf("path %q %s; probably %s is meant", e.Name, e.Problem, e.Meant)
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

// cutHome takes a leading ~/ off, which only shells expand.
func cutHome(name string) (rest string, ok bool) {
	if name == "~" {
		return "", true
	}
	return strings.CutPrefix(name, "~/")
}

// Record is what a session has read of a file, as data that outlives it.
type Record struct {
	Path   string
	Hash   Hash
	Lines  int
	Whole  bool
	Opaque bool
	Gone   bool    // nothing is known of the file anymore
	Read   []Range // if not Whole
}

// Take returns the records that changed since it last returned them, sorted by path: those of paths that of accepts.
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
			out = append(out, Record{Path: path, Gone: true})
			continue
		}
		f := e.Value.(*seenFile)
		r := Record{Path: path, Hash: f.hash, Lines: f.lines, Whole: f.whole, Opaque: f.opaque}
		if !f.whole {
			r.Read = slices.Clone(f.read)
		}
		out = append(out, r)
	}
	return out
}

// Restore adds records of an earlier session. A file that has changed since counts as changed, because its hash differs.
func (s *Seen) Restore(records []Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		if r.Gone {
			continue
		}
		f := s.at(r.Path, r.Hash)
		f.opaque, f.whole, f.lines, f.read = r.Opaque, r.Whole, r.Lines, nil
		for _, lines := range r.Read {
			f.read = f.read.add(lines)
		}
		delete(s.fresh, r.Path)
	}
}
