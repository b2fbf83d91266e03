// Package atomicfile replaces a file's content so that readers see either the old or the new content, never a mix.
//
//	out, err := atomicfile.Write(path, content, atomicfile.Options{Old: &hashOfWhatWasRead, Backup: dir})
//
// The new content is written to a temporary file in the same directory, which is synced, gets the old file's mode,
// owner and extended attributes, and is renamed over it. If a rename would lose something (hard links in the workspace,
// another owner) or isn't possible (a directory that isn't writable, a mount point), the file is written in place after
// its old content was saved, and the Outcome says so; such a write can be interrupted halfway. Writers lock the
// directory for the last comparison and the rename, so of two that change the same content the second one gets a
// ChangedError.
//
// The package knows nothing about text, tools or permissions.
package atomicfile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/adze-dev/adze/internal/engine/sums"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
	"github.com/adze-dev/adze/internal/engine/workspace/realpath"
)

// Hash is the SHA-256 of a content.
type Hash = sums.Hash

// Options set the expected state of the file. The zero value creates a new file and never replaces one.
type Options struct {
	Old *Hash // replace the file if it has exactly this content

	// Roots, if set, are the directories of the workspace. A file that also has names elsewhere is replaced, so that
	// only this name changes. Otherwise all names of a file change with it.
	Roots []string
	// Backup is the directory for the old content of a file that must be written in place; it is created when needed.
	// Without one such a write is an error.
	Backup string
	// Mode is the mode of a new file; 0 is 0666 less the umask.
	Mode fs.FileMode
	// Canonical means that the path was resolved before: a link in it is an error (nofollow.ErrChanged) and not
	// followed.
	Canonical bool
	// Wait is how long to wait for the directory's lock; 0 is 60 s.
	Wait time.Duration
	// Sums may know the old content. nil: it is hashed for every comparison.
	Sums *sums.Recent
}

// Outcome describes how a write was done.
type Outcome struct {
	Path    string   // the written file, with links resolved
	Created bool     // it is new
	Made    []string // directories that were created, outermost first
	InPlace string   // why the file was written in place; empty if renamed
	Backup  string   // where the old content was saved, if in place
	Split   bool     // the file has other names, outside of Options.Roots, which have the old content
}

// ChangedError reports that the file isn't as expected. Nothing was written.
type ChangedError struct {
	Path string
	How  string // "has changed", "has appeared", "is gone"
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("write %s: the file %s since it was read. Read it again", e.Path, e.How)
}

// Write writes the content to the file at path.
func Write(path string, content []byte, o Options) (Outcome, error) {
	return WriteFrom(path, inMemory(content), o)
}

// Update writes what change makes of a file's content, which is nil if there is no file. If the file changes meanwhile,
// it begins again.
func Update(path string, o Options, change func(old []byte) ([]byte, error)) error {
	const most = 100 // more changes mean that the path is unusual
	for try := 1; ; try++ {
		old, err := os.ReadFile(path)
		if o.Old = nil; err == nil {
			hash := Hash(sha256.Sum256(old))
			o.Old = &hash
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		text, err := change(old)
		if err == nil {
			_, err = Write(path, text, o)
		}
		var changed *ChangedError
		if !errors.As(err, &changed) || try == most {
			return err
		}
	}
}

// Content is what is written. WriteTo may be called more than once.
type Content interface {
	io.WriterTo
	Size() int64
}

type inMemory []byte

func (m inMemory) Size() int64 { return int64(len(m)) }

func (m inMemory) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(m)
	return int64(n), err
}

// WriteFrom writes the content to the file at path.
func WriteFrom(path string, content Content, o Options) (Outcome, error) {
	w, err := newWrite(path, content, o)
	if err != nil {
		return Outcome{}, err
	}
	if err := w.run(); err != nil {
		return Outcome{}, failure(w.path, err)
	}
	return w.out, nil
}

func newWrite(path string, content Content, o Options) (*write, error) {
	abs, err := target(path, o)
	return &write{path: abs, base: filepath.Base(abs), content: content, opts: o, out: Outcome{Path: abs}}, err
}

func failure(path string, err error) error {
	var changed *ChangedError
	if errors.As(err, &changed) {
		return err
	}
	return fmt.Errorf("write %s: %w", path, nofollow.Cause(err))
}

func target(path string, o Options) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("write %s: not an absolute path", path)
	}
	if o.Canonical {
		return filepath.Clean(path), nil
	}
	abs, _, err := realpath.Resolve(path)
	return abs, err
}

// write is the state of one Write.
type write struct {
	path, base string
	content    Content // nil: the file is deleted
	opts       Options
	dir        *os.Root
	made       openDir
	handle     *os.File    // of the directory
	temp       *tempFile   // the prepared content; nil: it is written in place
	inPlaceFor string      // why
	split      bool        // other names of the file keep the old content
	info       fs.FileInfo // nil for a new file
	out        Outcome
}

func (w *write) run() (err error) {
	defer func() { w.close(err != nil) }()
	if err := w.prepare(); err != nil {
		return err
	}
	return w.commit()
}

// prepare does everything that can fail for want of space: the new content is in a temporary file, and synced.
func (w *write) prepare() error {
	var err error
	w.made, err = openDirectory(filepath.Dir(w.path), w.opts.Old == nil)
	if errors.Is(err, fs.ErrNotExist) && w.opts.Old != nil {
		return &ChangedError{Path: w.path, How: "is gone"}
	}
	if err != nil {
		return err
	}
	w.dir, w.out.Made = w.made.root, w.made.names
	if w.handle, err = w.dir.Open("."); err != nil {
		return err
	}
	sweep(w.dir)
	if err := w.look(); err != nil || w.content == nil {
		return err
	}
	if w.info == nil {
		return w.prepareNew()
	}
	return w.prepareOver()
}

// commit makes the prepared change.
func (w *write) commit() error {
	var err error
	switch {
	case w.content == nil:
		err = w.locked(w.remove)
	case w.info == nil:
		err = w.create()
	default:
		err = w.replace()
	}
	if err != nil {
		return err
	}
	return syncDirectory(w.handle)
}

// close releases what prepare opened. After a failure it also removes the directories that were created.
func (w *write) close(failed bool) {
	if w.temp != nil {
		w.temp.discard()
	}
	if w.handle != nil {
		w.handle.Close()
	}
	if w.dir != nil {
		w.made.close(failed)
	}
}

// remove deletes the file if it is still the same.
func (w *write) remove() error {
	if err := w.again(); err != nil {
		return err
	}
	return w.dir.Remove(w.base)
}

// look compares the file with the expected state.
func (w *write) look() error {
	info, err := w.dir.Lstat(w.base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if w.opts.Old != nil {
			return &ChangedError{Path: w.path, How: "is gone"}
		}
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return nofollow.ErrChanged
	case !info.Mode().IsRegular():
		return &nofollow.NotRegularError{Path: w.path, Kind: nofollow.Kind(info.Mode())}
	case w.opts.Old == nil:
		return &ChangedError{Path: w.path, How: "has appeared"}
	}
	w.info = info
	return w.compare(info)
}

// compare compares the content of the file that info describes with the expected one.
func (w *write) compare(info fs.FileInfo) error {
	f, err := w.open(info, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	now, err := w.opts.Sums.File(f)
	if err != nil {
		return err
	}
	if now != *w.opts.Old {
		return &ChangedError{Path: w.path, How: "has changed"}
	}
	return nil
}

// open opens the file if it is still the one that info describes.
func (w *write) open(info fs.FileInfo, flag int) (*os.File, error) {
	f, err := w.dir.OpenFile(w.base, flag|nonblock, 0)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(info, now) {
		err = &ChangedError{Path: w.path, How: "has changed"}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// again compares again, with the directory's lock, right before the old content is replaced.
func (w *write) again() error {
	now, err := w.dir.Lstat(w.base)
	if err != nil {
		return &ChangedError{Path: w.path, How: "is gone"}
	}
	return w.compare(now)
}
