package undo

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/workspace/hardlink"
	"github.com/adze-dev/adze/internal/workspace/nofollow"
)

// peek returns the state of a path, with the hash of its content, which isn't saved.
func peek(path string) (State, error) {
	return stateOf(path, func(info fs.FileInfo) (State, error) { return hashFile(path, info) })
}

func hashFile(path string, info fs.FileInfo) (State, error) {
	f, err := nofollow.Open(path)
	if errors.Is(err, fs.ErrPermission) && os.Chmod(path, info.Mode()|0o400) == nil { // the call removed the permission
		f, err = nofollow.Open(path)
		err = errors.Join(err, os.Chmod(path, info.Mode()))
	}
	if err != nil {
		return State{Is: isUnsaved}, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return State{Is: isUnsaved}, err
	}
	return State{filePrefix + hex.EncodeToString(sum.Sum(nil)), info.Mode() & modeBits}, nil
}

// keeps returns the name of a directory entry that will remain; "": none.
func keeps(dir string, stays map[string]State) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		to, planned := stays[path]
		if !planned || to.Is != "" {
			return e.Name()
		}
		if e.IsDir() && keeps(path, stays) != "" {
			return e.Name()
		}
	}
	return ""
}

// Save saves what the plan replaces, so that it can be redone, and returns the changes of the plan.
func (p Plan) Save() ([]Change, error) {
	b := &batch{store: p.store}
	var out []Change
	for _, s := range p.Todo() {
		if s.Now.isFile() {
			h, ok := parse(s.Now.Is)
			if !ok || !p.store.contains(h) {
				if _, err := readSmall(s.Path, 0, 1<<62, b); err != nil {
					return nil, fmt.Errorf("save %s before it is replaced: %w", s.Path, err)
				}
			}
		}
		out = append(out, Change{s.Path, s.Now, s.To})
	}
	return out, b.flush()
}

// Apply executes the plan, and returns what it did and what it skipped. In all cases, each file is either unchanged or as
// planned. Paths that changed since the plan was made are skipped.
func (p Plan) Apply() (done []Change, left []Left) {
	r := restorer{store: p.store, modes: map[string]fs.FileMode{}}
	steps := p.Todo()
	// Deletions, the deepest first; then directories, the outermost first; then the rest.
	for _, s := range slices.Backward(steps) {
		if s.Now.Is != "" && (s.To.Is == "" || s.Now.Is == isDir != (s.To.Is == isDir)) {
			r.try(s, r.remove)
		}
	}
	for _, s := range steps {
		if s.To.Is == isDir {
			r.try(s, r.makeDir)
		}
	}
	for _, s := range steps {
		if s.To.Is != "" && s.To.Is != isDir {
			r.try(s, r.write)
		}
	}
	r.finish()
	for _, s := range steps {
		if why := r.failed[s.Path]; why != nil {
			left = append(left, Left{s.Path, why.Error(), false})
		} else {
			done = append(done, Change{s.Path, s.Now, s.To})
		}
	}
	return done, left
}

// restorer does the steps of a plan.
type restorer struct {
	store  *Store
	failed map[string]error
	modes  map[string]fs.FileMode // of directories, set when everything in them is done
}

func (r *restorer) try(s Step, f func(Step) error) {
	if r.failed[s.Path] != nil {
		return
	}
	err := f(s)
	if errors.Is(err, fs.ErrPermission) && r.unlock(filepath.Dir(s.Path)) {
		err = f(s)
	}
	if err != nil {
		if r.failed == nil {
			r.failed = map[string]error{}
		}
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		r.failed[s.Path] = err
	}
}

// unlock makes a directory writable until the end.
func (r *restorer) unlock(dir string) bool {
	info, err := nofollow.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode()&0o700 == 0o700 {
		return false
	}
	if _, planned := r.modes[dir]; !planned {
		r.modes[dir] = info.Mode() & modeBits
	}
	return os.Chmod(dir, info.Mode()&modeBits|0o700) == nil
}

// errChanged reports a path that changed after the plan was made.
var errChanged = errors.New("changed just now")

// check returns an error if the path changed since the plan was made.
func check(s Step) error {
	now, err := peek(s.Path)
	if err == nil && now != s.Now {
		err = errChanged
	}
	return err
}

func (r *restorer) remove(s Step) error {
	if s.Now.Is != isDir {
		if err := check(s); err != nil {
			return err
		}
	}
	return inDir(s.Path, func(dir *os.Root, name string) error { return dir.Remove(name) })
}

// inDir opens the directory of a path, without following links.
func inDir(path string, f func(dir *os.Root, name string) error) error {
	dir, err := nofollow.OpenDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return f(dir, filepath.Base(path))
}

func (r *restorer) makeDir(s Step) error {
	r.modes[s.Path] = s.To.Mode
	if s.Now.Is == isDir {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o777); err != nil {
		return err
	}
	err := inDir(s.Path, func(dir *os.Root, name string) error { return dir.Mkdir(name, 0o700) })
	if errors.Is(err, fs.ErrExist) {
		return nil // above another one
	}
	return err
}

// write replaces a file or a link atomically.
func (r *restorer) write(s Step) error {
	if s.Now.Is != isDir { // otherwise it was removed
		if err := check(s); err != nil {
			return err
		}
	}
	if s.Now.Is == s.To.Is && !shared(s.Path) {
		return inDir(s.Path, func(dir *os.Root, name string) error { return dir.Chmod(name, s.To.Mode) })
	}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o777); err != nil {
		return err
	}
	return inDir(s.Path, func(dir *os.Root, name string) error {
		temp := ".adze-undo-" + hashed(s.Path)
		_ = dir.Remove(temp) // from an undo that was killed
		err := r.fill(dir, temp, s.To)
		if err == nil {
			err = dir.Rename(temp, name)
		}
		if err != nil {
			_ = dir.Remove(temp) // it may not exist
		}
		return err
	})
}

// shared reports whether a file has other names, possibly outside the workspace. It is replaced, also to restore its mode, so
// that the others don't change.
func shared(path string) bool {
	info, err := nofollow.Lstat(path)
	if err != nil {
		return false
	}
	_, names := hardlink.Of(info)
	return names > 1
}

// hashed returns a short name for a path.
func hashed(path string) string {
	h := sha256.Sum256([]byte(path))
	return hex.EncodeToString(h[:6])
}

// fill makes a file or a link of that name.
func (r *restorer) fill(dir *os.Root, name string, to State) error {
	if strings.HasPrefix(to.Is, linkPrefix) {
		return dir.Symlink(to.target(), name)
	}
	content, err := r.store.Get(to.Is)
	if err != nil {
		return err
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(to.Mode)
	}
	return errors.Join(err, f.Close())
}

// finish sets the modes of directories, the deepest first.
func (r *restorer) finish() {
	dirs := make([]string, 0, len(r.modes))
	for dir := range r.modes {
		dirs = append(dirs, dir)
	}
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Compare(b, a) })
	for _, dir := range dirs {
		if r.failed[dir] != nil {
			continue
		}
		if err := os.Chmod(dir, r.modes[dir]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			if r.failed == nil {
				r.failed = map[string]error{}
			}
			r.failed[dir] = err
		}
	}
}
