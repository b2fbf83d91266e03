package ondisk

import (
	"errors"
	"path/filepath"

	"github.com/adze-dev/adze/internal/engine/gitindex"
)

// Tracked calls visit with the path of each file in the index of the repository around dir, until it returns false.
// known is false if that couldn't be determined.
func (d *disk) Tracked(dir string, visit func(path string) bool) (known bool) {
	if d.remote(dir) {
		return false
	}
	top, known := d.worktree(dir)
	if !known || top == "" {
		return known
	}
	n := 0
	err := eachEntry(filepath.Join(top, ".git"), func(name string, mode uint32) error {
		if n++; n%512 == 0 && !d.spend(1) {
			return errTooMuch
		}
		if !visit(top + string(filepath.Separator) + filepath.FromSlash(name)) {
			return errEnough
		}
		return nil
	})
	return err == nil || errors.Is(err, errEnough)
}

// errEnough reports that a visitor stopped.
var errEnough = errors.New("enough")

const maxGitlinks = 500

// gitlinks returns the paths of submodules in a repository's index.
func gitlinks(gitDir string) (paths []string, err error) {
	err = eachEntry(gitDir, func(name string, mode uint32) error {
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
func eachEntry(gitDir string, visit func(name string, mode uint32) error) error {
	const hashSize = 20
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
