package disk

import "github.com/adze-dev/adze/internal/gitindex"

const maxGitlinks = 500

// gitlinks lists the places of submodules in a repository's index. hashSize is that of the object names; 0: 20.
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

// eachEntry visits the entries of a repository's index, also those of one that it shares.
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
