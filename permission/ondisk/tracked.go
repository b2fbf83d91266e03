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
	err := eachEntry(filepath.Join(top, ".git"), func(name string, mode uint32) error {
		if !visit(top + string(filepath.Separator) + filepath.FromSlash(name)) {
			return errEnough
		}
		return nil
	})
	return err == nil || errors.Is(err, errEnough)
}

// errEnough reports that a visitor stopped.
var errEnough = errors.New("enough")

// anySubmodule names a submodule in a repository's index; "" if there is none.
func anySubmodule(gitDir string) (name string, err error) {
	err = eachEntry(gitDir, func(path string, mode uint32) error {
		if mode&gitindex.TypeMask == gitindex.Gitlink {
			name = "the submodule " + path
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return name, err
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
