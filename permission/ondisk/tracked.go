package ondisk

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/adze-dev/adze/internal/gitindex"
	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/permission/shell/prove"
)

// trackedWalk checks the files in git's index, which need not exist.
type trackedWalk struct {
	*secretWalk
	begun       bool
	directories map[string]bool // whether a directory is one, and not a link
}

// tracked is Secret for a search through tracked files. Git opens a file by its name in the index, even if a directory in
// that name is a link now: everything behind such a link counts as secret.
func (d *disk) tracked(w *secretWalk, dir string) string {
	t := &trackedWalk{secretWalk: w, directories: map[string]bool{}}
	r := &repoReader{disk: d, budget: w.budget, seen: map[string]bool{}, index: t.read}
	if err := r.around(dir); err != nil || !t.begun {
		return unseen
	}
	return w.found
}

// Tracked calls visit with the path of each file in the index of the repository around dir, until it returns false. known is
// false if that couldn't be determined.
func (d *disk) Tracked(dir string, visit func(path string) bool) (known bool) {
	if d.remote(dir) {
		return false
	}
	r := &repoReader{disk: d, budget: d.budget(), seen: map[string]bool{}, lax: true}
	n, begun := 0, false
	r.index = func(gitDir, top string, hashSize int) error {
		if begun || top == "" {
			return nil
		}
		begun = true
		return eachEntry(gitDir, hashSize, func(name string, mode uint32) error {
			if n++; n%chunk == 0 && !r.budget.spend(1) {
				return errTooMuch
			}
			if !visit(top + string(filepath.Separator) + filepath.FromSlash(name)) {
				return errEnough
			}
			return nil
		})
	}
	err := r.around(dir)
	return err == nil || errors.Is(err, errEnough)
}

// errEnough reports that a visitor stopped.
var errEnough = errors.New("enough")

// read checks the index of a repository whose files are in top.
func (t *trackedWalk) read(gitDir, top string, hashSize int) error {
	if t.begun || top == "" {
		return nil // a submodule, which git doesn't search
	}
	t.begun = true
	n := 0
	return eachEntry(gitDir, hashSize, func(name string, mode uint32) error {
		if n++; n%chunk == 0 && !t.budget.spend(chunk) {
			return errTooMuch
		}
		path := filepath.Join(top, name)
		if _, below := names.Within(path, []string{t.top}); !below || mode&gitindex.TypeMask == gitindex.Gitlink || t.found != "" {
			return nil
		}
		t.entry(top, name, path)
		return nil
	})
}

func (t *trackedWalk) entry(top, name, path string) {
	switch {
	case !filepath.IsLocal(name):
		t.found = unseen
	case !t.inDirectories(top, filepath.Dir(name)):
		t.found = path
	default:
		if t.search == prove.Linked {
			if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
				t.link(path)
			}
		}
		t.file(path)
		if _, ok := names.Secret(filepath.Join(filepath.Dir(path), "x")); ok && !innocent(filepath.Dir(path)) {
			t.found = path
		}
	}
}

// inDirectories reports whether a directory, and all between it and top, are directories or don't exist.
func (t *trackedWalk) inDirectories(top, dir string) bool {
	if dir == "." {
		return true
	}
	is, known := t.directories[dir]
	if !known {
		info, err := os.Lstat(filepath.Join(top, dir))
		is = (err == nil && info.IsDir() || err != nil && absent(err)) && t.budget.spend(1) && t.inDirectories(top, filepath.Dir(dir))
		t.directories[dir] = is
	}
	return is
}

const maxGitlinks = 500

// gitlinks returns the paths of submodules in a repository's index. hashSize is the length of object names; 0: 20.
func gitlinks(gitDir string, hashSize int) (paths []string, err error) {
	err = eachEntry(gitDir, hashSize, func(name string, mode uint32) error {
		if mode&gitindex.TypeMask != gitindex.Gitlink {
			return nil
		}
		if paths = append(paths, name); len(paths) > maxGitlinks {
			return errTooMuch
		}
		return nil
	})
	return paths, err
}

// eachEntry visits the entries of a repository's index, including those of a shared index.
func eachEntry(gitDir string, hashSize int, visit func(name string, mode uint32) error) error {
	if hashSize == 0 {
		hashSize = 20
	}
	data, err := read(gitDir+"/index", maxIndex)
	if err != nil {
		if absent(err) {
			return nil
		}
		return err
	}
	each := func(e gitindex.Entry) error { return visit(string(e.Name), e.Mode) }
	split, err := gitindex.Parse(data, hashSize, each)
	if err != nil || split == nil {
		return err
	}
	if data, err = read(gitDir+"/sharedindex."+split.Shared, maxIndex); err != nil {
		return err
	}
	return split.Parse(data, hashSize, each)
}
