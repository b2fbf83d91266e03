// Package spill saves results that are too large for a model to files of the session, within limits, where they can be
// read and searched.
//
//	dir, err := spill.Open(stateDir, sessionID, spill.Limits{})
//	saved, err := dir.Save(call.ID, "run_shell_command", output)
//
// Only the user can read the files. [Clean] deletes them some time after their session has ended.
package spill

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/filelock"
	"github.com/adze-dev/adze/internal/engine/workspace/realpath"
)

// Limits bound what is saved, in bytes. Zero means the default: 64 MB per result, 512 MB per session.
type Limits struct {
	PerResult  int64
	PerSession int64
}

// Saved describes what was saved of a text.
type Saved struct {
	Path    string
	Kept    int64 // bytes, from the beginning of the text
	Dropped int64 // bytes after them, over a limit
}

// ErrFull means that the session's limit is used up and nothing was saved.
var ErrFull = errors.New("the session's limit for saved results is reached")

const (
	directory = "spill"  // below the state directory; a directory for each session in it
	lockName  = ".lock"  // locked while a session is running
	goneName  = ".gone-" // prefix of a directory that is being removed
)

// Dir is the directory of one session. It is safe for concurrent use.
type Dir struct {
	path   string
	limits Limits

	mu     sync.Mutex
	root   *os.Root // nil until something is saved
	lock   *os.File
	used   int64
	closed bool
}

// Open returns the directory of a session below the state directory. It is created when something is saved.
func Open(stateDir, sessionID string, limits Limits) (*Dir, error) {
	if !filepath.IsAbs(stateDir) || sessionID == "" {
		return nil, fmt.Errorf("open the directory for saved results: state directory %q, session %q: expected an "+
			"absolute path and a name", stateDir, sessionID)
	}
	if limits.PerResult <= 0 {
		limits.PerResult = 64 << 20
	}
	if limits.PerSession <= 0 {
		limits.PerSession = 512 << 20
	}
	path := filepath.Join(realpath.Existing(stateDir), directory, sessionDirectory(sessionID))
	return &Dir{path: path, limits: limits}, nil
}

// Root returns the directory's path with links resolved, whether it exists yet or not.
func (d *Dir) Root() string { return d.path }

// Save saves text to a new file, or as much of its beginning as the limits allow. callID and name are only used for the
// file's name, and can be any text.
func (d *Dir) Save(callID, name, text string) (Saved, error) {
	root, kept, err := d.reserve(text)
	if err != nil {
		return Saved{}, fmt.Errorf("save the result of %s: %w", name, err)
	}
	file, err := write(root, "result-"+safe(callID, "call")+"-"+safe(name, "tool"), kept)
	if err != nil {
		d.mu.Lock()
		d.used = max(0, d.used-int64(len(kept)))
		d.mu.Unlock()
		return Saved{}, fmt.Errorf("save the result of %s in %s: %w", name, d.path, err)
	}
	return Saved{
		Path: filepath.Join(d.path, file),
		Kept: int64(len(kept)), Dropped: int64(len(text) - len(kept)),
	}, nil
}

// Close releases the directory: Clean may remove it later.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.root != nil {
		now := time.Now()
		_ = d.root.Chtimes(".", now, now) // otherwise it ages from the last Save on
	}
	return d.release()
}

func (d *Dir) release() error {
	if d.root == nil {
		return nil
	}
	err := errors.Join(d.root.Close(), filelock.Close(d.lock))
	d.root, d.lock = nil, nil
	return err
}

// reserve creates the directory if necessary and reserves space for as much of text as the limits allow.
func (d *Dir) reserve(text string) (*os.Root, string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, "", fs.ErrClosed
	}
	if err := d.hold(); err != nil {
		return nil, "", err
	}
	room := min(d.limits.PerResult, d.limits.PerSession-d.used)
	kept := head(text, room)
	if kept == "" && text != "" {
		return nil, "", ErrFull
	}
	d.used += int64(len(kept))
	return d.root, kept, nil
}

// hold ensures that the directory exists and is locked. It is created again if it was removed.
func (d *Dir) hold() error {
	if d.root != nil {
		if held(d.lock, d.path) {
			return nil
		}
		_ = d.release() // it was removed
	}
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		return err
	}
	root, lock, err := take(d.path)
	if err != nil {
		return err
	}
	d.root, d.lock, d.used = root, lock, size(root)
	return nil
}

// size returns the total size of files from an earlier run of the session.
func size(root *os.Root) int64 {
	var sum int64
	entries, _ := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum
}

// write creates a file with the whole text. After an error the file is removed.
func write(root *os.Root, name, text string) (string, error) {
	f, file, err := create(root, name, ".txt")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, root.Remove(file))
	}
	return file, nil
}

// create creates a file, with another name if the name exists.
func create(root *os.Root, name, ext string) (*os.File, string, error) {
	for n := 1; ; n++ {
		file := name + ext
		if n > 1 {
			file = fmt.Sprintf("%s-%d%s", name, n, ext)
		}
		// O_EXCL doesn't follow links, so existing files are untouched.
		f, err := root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, file, err
		}
	}
}

// head returns the beginning of text, at most n bytes, cut between characters.
func head(text string, n int64) string {
	if int64(len(text)) <= n {
		return text
	}
	end := int(max(n, 0))
	for i := 0; i < utf8.UTFMax && end > 0 && !utf8.RuneStart(text[end]); i++ {
		end--
	}
	return text[:end]
}

// maxName limits the length of file names.
const maxName = 60

// safe returns a name that is valid on every file system.
func safe(s, empty string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, s[:min(len(s), maxName)])
	if s == "" {
		return empty
	}
	return s
}

// sessionDirectory returns a valid name that is unique for each session, even if the file system ignores case.
func sessionDirectory(id string) string {
	name := strings.ToLower(safe(id, ""))
	if name == id {
		return name
	}
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("%s-%x", name, sum[:8])
}

// File receives a long output as it is produced. Bytes over a limit are dropped and counted.
type File struct {
	dir     *Dir
	file    *os.File
	path    string
	kept    int64
	dropped int64
}

// Create creates a file for an output of unknown length. callID and name are only used for the file's name.
func (d *Dir) Create(callID, name string) (*File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := fs.ErrClosed
	if !d.closed {
		err = d.hold()
	}
	if err != nil {
		return nil, fmt.Errorf("save the output of %s: %w", name, err)
	}
	ext := extension(name)
	f, file, err := create(d.root, "output-"+safe(callID, "call")+"-"+safe(strings.TrimSuffix(name, ext), "tool"),
		cmp.Or(ext, ".txt"))
	if err != nil {
		return nil, fmt.Errorf("save the output of %s in %s: %w", name, d.path, err)
	}
	return &File{dir: d, file: f, path: filepath.Join(d.path, file)}, nil
}

// extension returns the extension of a name, if it is an ordinary one: programs go by it.
func extension(name string) string {
	ext := filepath.Ext(name)
	if len(ext) < 2 || len(ext) > 9 || safe(ext[1:], "") != ext[1:] {
		return ""
	}
	return ext
}

// Write saves as much of p as the limits allow.
func (f *File) Write(p []byte) (int, error) {
	room := f.dir.room(min(int64(len(p)), f.dir.limits.PerResult-f.kept))
	n, err := f.file.Write(p[:room])
	f.kept += int64(n)
	f.dropped += int64(len(p)) - room
	if err != nil {
		return n, fmt.Errorf("save an output in %s: %w", f.path, err)
	}
	return len(p), nil
}

// Close ends the file.
func (f *File) Close() error { return f.file.Close() }

// Saved describes what was saved.
func (f *File) Saved() Saved { return Saved{f.path, f.kept, f.dropped} }

// room takes up to n bytes of the session's remaining limit.
func (d *Dir) room(n int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	n = max(0, min(n, d.limits.PerSession-d.used))
	d.used += n
	return n
}

// take creates a session's directory and locks it. Runs of one session share the lock. Clean takes it exclusively and
// renames the directory before it releases it, so a lock is valid only if it is still the one in the directory.
func take(dir string) (*os.Root, *os.File, error) {
	const tries = 100 // a Clean may come in between
	var err error
	for range tries {
		if err = os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, nil, err
		}
		var root *os.Root
		var lock *os.File
		root, lock, err = openLock(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if err = filelock.WaitShared(lock); err == nil && held(lock, dir) {
			return root, lock, nil
		}
		root.Close()
		filelock.Close(lock)
		if err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("create %s: it was repeatedly removed: %w", dir, err)
}

// openLock opens a session's directory, and its lock file.
func openLock(dir string) (*os.Root, *os.File, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, nil, err
	}
	if !info.IsDir() { // not a link
		return nil, nil, &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a directory")}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	lock, err := root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	return root, lock, nil
}

// held reports whether lock is the file in the directory of that path.
func held(lock *os.File, dir string) bool {
	return filelock.IsAt(lock, filepath.Join(dir, lockName))
}
