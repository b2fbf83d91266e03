package secretfiles

import (
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/adze-dev/adze/internal/engine/gitconfig"
	"github.com/adze-dev/adze/internal/engine/gitindex"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// repos knows which files git tracks, in the repositories around the roots and below them. A repository whose index is
// unreadable, split or sparse tracks nothing.
type repos struct {
	roots []string
	seed  maphash.Seed

	generation int // number of resets, from 1

	mu     sync.Mutex
	byDir  map[string]*repo // the repository around a directory; nil: none
	all    []*repo
	absent []string // paths above the roots that would be a repository, which aren't watched
}

// repo is a repository with its working tree.
type repo struct {
	top   string
	mark  mark
	sizes map[uint64]uint32 // of tracked files, by the hash of their names
}

// mark changes when the index of a repository does.
type mark struct {
	git, index stamp
	path       string // of the index
}

func newRepos(roots []string) *repos {
	r := &repos{roots: roots, seed: maphash.MakeSeed()}
	r.reset()
	return r
}

// reset clears everything: a repository was created or deleted.
func (r *repos) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.generation++
	r.byDir, r.all, r.absent = map[string]*repo{}, nil, nil
}

// refresh clears everything if an index changed.
func (r *repos) refresh() {
	for _, path := range r.absent {
		if _, err := lstat(path); err == nil {
			r.reset()
			return
		}
	}
	for _, repo := range r.all {
		if newMark(repo.top) != repo.mark {
			r.reset()
			return
		}
	}
}

// tracked reports whether an index has a file, and whether the file has the size in the index.
func (r *repos) tracked(path string) (listed, same bool) {
	if _, inside := names.Within(path, r.roots); !inside {
		return false, false // such as passwords in /etc, which some administrators track
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	repo := r.around(filepath.Dir(path))
	if repo == nil {
		return false, false
	}
	name, ok := names.Rel(path, repo.top)
	if !ok {
		return false, false
	}
	size, listed := repo.sizes[maphash.String(r.seed, filepath.ToSlash(name))]
	if !listed {
		return false, false
	}
	st, err := lstat(path)
	return true, err == nil && st.kind == kindFile && uint32(st.size) == size
}

// around returns the repository that a directory belongs to.
func (r *repos) around(dir string) *repo {
	if found, known := r.byDir[dir]; known {
		return found
	}
	var found *repo
	if _, err := lstat(filepath.Join(dir, ".git")); err == nil {
		found = r.load(dir)
		r.all = append(r.all, found)
	} else {
		if _, inside := names.Within(dir, r.roots); !inside {
			r.absent = append(r.absent, filepath.Join(dir, ".git"))
		}
		if up := filepath.Dir(dir); up != dir {
			found = r.around(up)
		}
	}
	r.byDir[dir] = found
	return found
}

const maxIndex = 64 << 20

// load reads an index. Its mark is taken first, so that a concurrent change is detected.
func (r *repos) load(top string) *repo {
	repo := &repo{top: top, mark: newMark(top)}
	data, err := readFile(repo.mark.path, maxIndex)
	if err != nil {
		return repo
	}
	for _, hashSize := range []int{20, 32} {
		sizes := map[uint64]uint32{}
		split, err := gitindex.Parse(data, hashSize, func(e gitindex.Entry) error {
			if e.Mode&gitindex.TypeMask == gitindex.Regular {
				sizes[maphash.Bytes(r.seed, e.Name)] = e.Size
			}
			return nil
		})
		if err == nil && split == nil {
			repo.sizes = sizes
			break
		}
	}
	return repo
}

// newMark reads the state of the repository whose .git is in top. In a linked working tree, .git is a file with the
// path of the directory.
func newMark(top string) (m mark) {
	path := filepath.Join(top, ".git")
	var err error
	if m.git, err = stat(path); err != nil {
		return mark{}
	}
	if m.git.kind == kindDir {
		m.git = stamp{dev: m.git.dev, ino: m.git.ino, kind: kindDir} // its times change constantly
	} else if path, _ = gitconfig.Pointer(path, "gitdir: "); path == "" {
		return m
	}
	m.path = filepath.Join(path, "index")
	m.index, _ = stat(m.path)
	return m
}

// readFile reads a regular file of at most max bytes.
func readFile(path string, max int64) ([]byte, error) {
	if st, err := stat(path); err != nil || st.kind != kindFile || st.size > max {
		return nil, os.ErrInvalid // opening a pipe would block
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, max))
}
