package ignore

import (
	"os"
	"time"
)

// racy is how old a change must be before its timestamp distinguishes it from another one: kernels round timestamps to
// ticks.
const racy = 50 * time.Millisecond

// stamp identifies the state of one path on disk.
type stamp struct {
	path  string
	found bool
	size  int64
	inode uint64
	mode  os.FileMode
	mod   time.Time
}

func stampOf(path string) stamp {
	st, err := os.Stat(path)
	if err != nil {
		// A dangling link exists too.
		if st, err = os.Lstat(path); err != nil {
			return stamp{path: path}
		}
	}
	return stamp{path: path, found: true, size: st.Size(), inode: inode(st), mode: st.Mode(), mod: st.ModTime()}
}

// watch records the state of files that were checked, to detect changes later. A nil watch records nothing.
type watch struct {
	taken  time.Time
	stamps []stamp
}

func newWatch() *watch { return &watch{taken: time.Now()} }

func (w *watch) add(path string) {
	if w != nil {
		w.stamps = append(w.stamps, stampOf(path))
	}
}

// unchanged reports whether everything is as it was. A change in the same tick as the earlier check can't be detected,
// so files that were just changed then are not trusted.
func (w *watch) unchanged() bool {
	for _, s := range w.stamps {
		if s.found && w.taken.Sub(s.mod) < racy {
			return false
		}
		now := stampOf(s.path)
		if now.found != s.found || now.size != s.size || now.inode != s.inode || now.mode != s.mode ||
			!now.mod.Equal(s.mod) {
			return false
		}
	}
	return true
}

// probe returns which relevant names a directory has, without reading the directory.
func (r *Rules) probe(dir string) Marks {
	var m Marks
	look := func(name string) {
		if _, err := os.Lstat(dir + string(os.PathSeparator) + name); err == nil {
			m |= r.Mark(name)
		}
	}
	for _, name := range [...]string{".git", ".gitignore", families[0], families[1], families[2], families[3]} {
		look(name)
	}
	for _, name := range r.custom {
		look(name)
	}
	return m
}
