package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync"
)

// journalName is the file with a session's entries, one per line.
const journalName = "journal.jsonl"

// File is a log in a file. It is safe for concurrent use. Other processes can read the file; only one can have it open
// for writing.
type File struct {
	// Repair is what was wrong with the file when it was opened.
	Repair Repair

	dir  string
	f    *os.File    // nil: an archive, whose text is in memory
	in   io.ReaderAt // f or the text
	lock *os.File    // nil: only for reading
	// damage is a BrokenError if the archive can't be read to its end.
	damage error

	mu      sync.Mutex
	synced  sync.Cond // signals that a sync ended; uses mu
	buf     []byte
	last    int64 // Seq of the last entry
	size    int64
	newest  int   // version
	failed  error // an error that can't be repaired: nothing more is written
	closed  bool
	syncing bool
	safe    int64 // entries up to this Seq survive a power failure
	named   bool  // the file's name survives too
}

// Repair describes what was wrong with a journal, and how it was repaired.
type Repair struct {
	Torn   int64  // bytes of an incomplete last line, which were removed
	Broken int64  // the first invalid line, from 1; 0: none. It and all lines after it are ignored
	Kept   string // file beside the journal with those lines
}

// BrokenError reports an invalid line of a journal, or where an archive is damaged. The entries before it are valid.
type BrokenError struct {
	Path   string
	Line   int64 // from 1
	Damage error // of the archive; nil: the line is invalid
	offset int64
	torn   bool // it is the last one, and incomplete
}

func (e *BrokenError) Error() string {
	if e.Damage != nil {
		return fmt.Sprintf("%s can't be read to its end: %v", e.Path, e.Damage)
	}
	return fmt.Sprintf("line %d of %s is not a valid journal entry; the entries before it are intact", e.Line, e.Path)
}

// create makes the file of a new session, whose directory is locked.
func create(dir string, lock *os.File) (*File, error) {
	f, err := os.OpenFile(filepath.Join(dir, journalName), os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	return newFile(dir, f, lock), nil
}

func newFile(dir string, f, lock *os.File) *File {
	file := &File{dir: dir, f: f, in: f, lock: lock, newest: Version}
	file.synced.L = &file.mu
	return file
}

// Path returns the path of the file.
func (f *File) Path() string { return filepath.Join(f.dir, journalName) }

// Last returns the Seq of the last entry.
func (f *File) Last() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// Torn reports whether the last line of the file is incomplete.
func (f *File) Torn() bool {
	size, err := f.length()
	if err != nil || size == 0 || f.damage != nil {
		return false
	}
	last := []byte{0}
	_, err = f.in.ReadAt(last, size-1)
	return err == nil && last[0] != '\n'
}

// length returns the size of the journal now.
func (f *File) length() (int64, error) {
	if text, ok := f.in.(*bytes.Reader); ok {
		return text.Size(), nil
	}
	info, err := f.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// lines reads the lines that the journal has now.
func (f *File) lines() *lines {
	size, err := f.length()
	in := readLines(f.in, 0, size)
	in.missing = cmp.Or(err, f.damage)
	return in
}

// Append writes an entry with a single write. If the disk is full, nothing of the entry stays in the file.
func (f *File) Append(e Entry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return ErrClosed
	case f.lock == nil:
		return fmt.Errorf("append to %s: opened only for reading: %w", f.Path(), errors.ErrUnsupported)
	case f.newest > Version || e.V > Version:
		return fmt.Errorf("append to %s: %w", f.Path(), ErrNewer)
	case f.failed != nil:
		return f.failed
	case e.Seq != f.last+1:
		return conflict(e.Seq, f.last+1)
	}
	line, err := appendLine(f.buf[:0], e)
	if err != nil {
		return err
	}
	f.buf = line[:0]
	if _, err := f.f.Write(line); err != nil {
		if cut := f.f.Truncate(f.size); cut != nil {
			f.failed = errors.Join(err, cut)
		}
		return err
	}
	f.last, f.size = e.Seq, f.size+int64(len(line))
	return nil
}

// Sync returns when all earlier entries survive a power failure. One fdatasync serves all callers.
func (f *File) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	want := f.last
	for {
		switch {
		case f.failed != nil:
			return f.failed
		case f.safe >= want:
			return nil
		case f.closed:
			return ErrClosed
		case f.syncing:
			f.synced.Wait()
			continue
		}
		f.syncing = true
		last, named := f.last, f.named
		f.mu.Unlock()
		err := f.sync(named)
		f.mu.Lock()
		f.syncing = false
		if err == nil {
			f.safe, f.named = last, true
		} else {
			f.failed = err // the kernel may have dropped unwritten data
		}
		f.synced.Broadcast()
	}
}

func (f *File) sync(named bool) error {
	if err := datasync(f.f); err != nil || named {
		return err
	}
	if err := syncDir(f.dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.dir))
}

// Close unlocks the session.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.syncing {
		f.synced.Wait()
	}
	if f.closed {
		return nil
	}
	f.closed = true
	var err error
	if f.f != nil {
		err = f.f.Close()
	}
	if f.lock != nil {
		err = errors.Join(err, release(f.lock))
	}
	return err
}

// Read yields the entries that exist when it starts, from Seq from on. An incomplete last line is skipped, because it
// may just be being written; any other invalid line is a [BrokenError].
func (f *File) Read(from int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		in := f.lines()
		for n := int64(1); ; n++ {
			line, offset, whole, err := in.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if whole && n < from {
				if e, _, ok := head(line); ok && e.Seq == n {
					continue // skipped entry: its data isn't read
				}
			}
			e, ok := parse(line)
			if !ok && !whole && len(line) <= maxRead {
				continue // it is the last one
			}
			if !ok || e.Seq != n {
				yield(Entry{}, &BrokenError{Path: f.Path(), Line: n, offset: offset})
				return
			}
			if n < from {
				continue
			}
			e.Data = bytes.Clone(e.Data)
			if !yield(e, nil) {
				return
			}
		}
	}
}
