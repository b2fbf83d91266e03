package search

import (
	"errors"
	"io"
	"io/fs"
	"time"
)

// kind is what an entry of a directory is.
type kind uint8

const (
	unknownKind kind = iota // the file system does not say; ask stat
	regular
	directory
	link
	other // devices, sockets, pipes: never searched
	shut  // a directory that Tree does not enter
)

// folder is an open directory. The walk knows no more of the operating system than this.
type folder interface {
	// list reads all entries but "." and "..", unsorted.
	list(into *listing) error
	// open opens a regular file inside, without following a link of that name and without waiting.
	open(s *scratch, name []byte) (io.ReadCloser, error)
	// enter opens a directory inside, without following a link of that name.
	enter(name string) (folder, error)
	// stat describes an entry; follow asks for what a link leads to.
	stat(name []byte, follow bool) (kind, time.Time, error)
	// describe is all that tells a change of an entry, which is not followed.
	describe(name []byte) (Stat, error)
	close()
}

// errSkip says that a directory is not a place to search, such as /proc met on the way.
var errSkip = errors.New("a pseudo file system; name it to search it")

// listing contains the entries of a directory. The names end in a NUL byte, which the kernel requires, and share one
// buffer that is used again.
type listing struct {
	names   []byte
	entries []entry
	buf     []byte
}

type entry struct {
	start, end int32
	kind       kind
}

func (l *listing) reset() { l.names, l.entries = l.names[:0], l.entries[:0] }

func (l *listing) add(name string, k kind) {
	start := int32(len(l.names))
	l.names = append(append(l.names, name...), 0)
	l.entries = append(l.entries, entry{start, int32(len(l.names)) - 1, k})
}

// name gives an entry's name; its capacity reaches over the NUL byte.
func (l *listing) name(e entry) []byte { return l.names[e.start:e.end] }

// scratch is what one worker uses again from file to file.
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
