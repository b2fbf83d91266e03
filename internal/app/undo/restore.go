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
	"sort"
	"strings"

	"github.com/adze-dev/adze/internal/engine/search"
	"github.com/adze-dev/adze/internal/engine/workspace/hardlink"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/nofollow"
)

// peek returns the state of a path, with the hash of its content, which isn't saved; or its state as a node.
func peek(path string, node bool) (State, error) {
	if node {
		info, err := nofollow.Lstat(path)
		switch {
		case gone(err):
			return State{}, nil
		case err != nil:
			return State{Is: isUnsaved}, err
		}
		return nodeState(search.StatOf(info).Lasting()), nil
	}
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
		if to.Is == isUnsaved {
			continue // it is moved away
		}
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
		if content, ok := p.merged[s.To.Is]; ok {
			if _, err := b.add(content); err != nil {
				return nil, err
			}
		}
		if s.Now.isFile() {
			h, ok := parse(s.Now.Is)
			if !ok || !p.store.contains(h) {
				info, err := nofollow.Lstat(s.Path)
				if err == nil {
					_, err = readAny(s.Path, info.Size(), 1<<62, b)
				}
				if err != nil {
					return nil, fmt.Errorf("save %s before it is replaced: %w", s.Path, err)
				}
			}
		}
		out = append(out, Change{s.Path, s.Now, s.To})
	}
	return out, b.flush()
}

// Apply executes the plan, and returns what it did and what it skipped. In all cases, each file is either unchanged or
// as planned. Paths that changed since the plan was made are skipped.
func (p Plan) Apply() (done []Change, left []Left) {
	r := restorer{store: p.store, modes: map[string]fs.FileMode{}}
	steps := p.Todo()
	removes := func(s Step, dirs bool) bool {
		return !s.away && s.Now.Is != "" && s.Now.IsDir() == dirs && (s.To.Is == "" || dirs != s.To.IsDir())
	}
	// Deletions of files; new directories, the outermost first; moves; deletions of directories, the deepest first; the
	// rest.
	for _, s := range steps {
		if removes(s, false) {
			r.try(s, r.remove)
		}
	}
	for _, s := range steps {
		if s.To.Is == isDir {
			r.try(s, r.makeDir)
		}
	}
	r.moveAll(steps)
	for _, s := range slices.Backward(steps) {
		if removes(s, true) {
			r.try(s, r.remove)
		}
	}
	for _, s := range steps {
		if s.To.Is != "" && s.To.Is != isDir && s.From == "" {
			r.try(s, r.write)
		}
	}
	r.finish()
	for _, s := range steps {
		if why := r.failed[s.Path]; why != nil {
			left = append(left, Left{Path: s.Path, Why: why.Error()})
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
		r.failed = fail(r.failed, s.Path, nofollow.Cause(err))
	}
}

// moveAll moves what isn't saved back to its path. If paths were swapped, the first of them goes to a temporary name.
func (r *restorer) moveAll(steps []Step) {
	var waiting []Step
	at := map[string]string{} // of those with a temporary name
	for _, s := range steps {
		if s.From != "" {
			waiting = append(waiting, s)
		}
	}
	for len(waiting) > 0 {
		n := len(waiting)
		waiting = slices.DeleteFunc(waiting, func(s Step) bool {
			if _, err := os.Lstat(s.Path); err == nil {
				return false
			}
			r.try(s, func(s Step) error { return move(cmp.Or(at[s.From], s.From), s.Path, s.To) })
			if err := r.failed[s.Path]; err != nil {
				r.failed[s.From] = err
			}
			return true
		})
		if len(waiting) < n {
			continue
		}
		s := waiting[0]
		temp := filepath.Join(filepath.Dir(s.From), ".adze-undo-"+hashed(s.Path))
		r.try(s, func(s Step) error { return move(s.From, temp, s.To) })
		if r.failed[s.Path] != nil || at[s.From] != "" {
			r.failed = fail(r.failed, s.Path, cmp.Or(r.failed[s.Path], errChanged))
			r.failed[s.From] = r.failed[s.Path]
			waiting = waiting[1:]
		}
		at[s.From] = temp
	}
}

func fail(all map[string]error, path string, err error) map[string]error {
	if all == nil {
		all = map[string]error{}
	}
	all[path] = err
	return all
}

// move renames a file or a directory that is still as it was, without following links out of the directory that has
// both.
func move(from, to string, is State) error {
	now, err := peek(from, true)
	if err != nil || now.Is != is.Is {
		return cmp.Or(err, errChanged)
	}
	above := filepath.Dir(to)
	for !names.Below(filepath.Dir(from), above) && above != filepath.Dir(above) {
		above = filepath.Dir(above)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	dir, err := nofollow.OpenDir(above)
	if err != nil {
		return err
	}
	defer dir.Close()
	old, _ := names.Rel(from, above)
	name, _ := names.Rel(to, above)
	if err := dir.Rename(old, name); err != nil || now.Mode == is.Mode {
		return err
	}
	return dir.Chmod(name, is.Mode)
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
	now, err := peek(s.Path, s.Now.isNode())
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

// shared reports whether a file has other names, possibly outside the workspace. It is replaced, also to restore its
// mode, so that the others don't change.
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
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = r.store.CopyTo(f, to.Is); err == nil {
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
	sort.Slice(dirs, func(i, j int) bool { return dirs[i] > dirs[j] })
	for _, dir := range dirs {
		if r.failed[dir] != nil {
			continue
		}
		if err := os.Chmod(dir, r.modes[dir]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.failed = fail(r.failed, dir, err)
		}
	}
}
