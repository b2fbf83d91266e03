// Package leftover finds the temporary files of processes that were killed.
//
//	log := leftover.Open(dir)
//	defer log.Close()
//	log.Add(leftover.Tree, path) // before it is created
//
//	leftover.Sweep(dir, remove) // in another process, later
//
// A log is a file that its process has locked, so that process IDs, which are used again and mean nothing in another
// container, don't matter. Without locks nothing is recorded: on Windows.
package leftover

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/filelock"
)

// Kind is what to do with a path.
type Kind string

// The kinds of paths.
const (
	Tree  Kind = "tree"  // a directory that is removed with everything in it
	Files Kind = "files" // a directory with temporary files
	Batch Kind = "batch" // a directory with the old contents of files that were changed together
)

// Log records paths until it is closed. It is safe for concurrent use. A nil Log records nothing.
type Log struct {
	dir string

	mu     sync.Mutex
	file   *os.File        // nil until something is added
	seen   map[string]bool // lines
	closed bool
}

// Open returns a log in a directory, which other logs share. Nothing is created yet.
func Open(dir string) *Log { return &Log{dir: dir, seen: map[string]bool{}} }

// Add records a path: the process is about to create something there.
func (l *Log) Add(kind Kind, path string) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	line := string(kind) + " " + strconv.Quote(path) + "\n"
	if l.seen[line] || l.closed {
		return nil
	}
	if l.file == nil {
		f, err := create(l.dir)
		if err != nil || f == nil {
			return err
		}
		l.file = f
	}
	if _, err := l.file.WriteString(line); err != nil {
		return err
	}
	l.seen[line] = true
	return nil
}

// Close removes the log: nothing is left behind.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.file == nil {
		return nil
	}
	err := os.Remove(l.file.Name())
	if errors.Is(err, fs.ErrNotExist) { // the user cleaned up
		err = nil
	}
	err = errors.Join(err, l.file.Close())
	l.file = nil
	return err
}

// create creates a log and locks it. It returns nil on a file system without locks.
func create(dir string) (*os.File, error) {
	for {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		f, err := os.CreateTemp(dir, "")
		if err != nil {
			return nil, err
		}
		own, err := lock(f)
		if err != nil {
			return nil, errors.Join(os.Remove(f.Name()), f.Close())
		}
		if own && filelock.IsAt(f, f.Name()) {
			return f, nil
		}
		f.Close() // Sweep removes it, or has removed it, because it wasn't locked yet
	}
}

// Sweep calls remove for each path in logs of processes that have ended. It reports whether nothing is left there: then
// the path is forgotten, and otherwise remove is called again next time.
func Sweep(dir string, remove func(kind Kind, path string) (gone bool)) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type().IsRegular() {
			sweep(filepath.Join(dir, e.Name()), remove)
		}
	}
}

// maxLog is the maximum size of a log that is read.
const maxLog = 1 << 20

func sweep(path string, remove func(Kind, string) bool) {
	f, err := os.OpenFile(path, os.O_RDWR|noFollow, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if own, err := lock(f); !own || err != nil {
		return
	}
	all := true
	for lines := bufio.NewScanner(io.LimitReader(f, maxLog)); lines.Scan(); {
		kind, quoted, _ := strings.Cut(lines.Text(), " ")
		if left, err := strconv.Unquote(quoted); err == nil && filepath.IsAbs(left) { // the last line may be cut
			all = remove(Kind(kind), left) && all
		}
	}
	if all {
		os.Remove(path)
	}
}

// RemoveOwn removes a directory of the user with everything in it, and reports whether it is gone. It removes no links,
// and no files of other users.
func RemoveOwn(dir string) (gone bool) {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true
	case err != nil || !info.IsDir() || !own(info):
		return false
	}
	return os.RemoveAll(dir) == nil
}
