package ignore

import (
	"os"
	"time"
)

// racy is how old a change must be before its time stamp can tell it from another one: kernels stamp by the tick.
const racy = 50 * time.Millisecond

// stamp identifies the state of one path on disk.
type stamp struct {
	path  string
	found bool
	size  int64
	inode uint64
	mod   time.Time
}

func stampOf(path string) stamp {
	st, err := os.Stat(path)
	if err != nil {
		// A dangling link is there all the same.
		if st, err = os.Lstat(path); err != nil {
			return stamp{path: path}
		}
	}
	return stamp{path: path, found: true, size: st.Size(), inode: inode(st), mod: st.ModTime()}
}

// watch remembers the state of all that was looked at, so that a later look can tell whether anything changed. A nil
// watch remembers nothing.
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

// unchanged tells whether everything is as it was. A change that fell into the same tick as the look before it cannot be
// seen, so what was young then is not trusted.
func (w *watch) unchanged() bool {
	for _, s := range w.stamps {
		if s.found && w.taken.Sub(s.mod) < racy {
			return false
		}
		now := stampOf(s.path)
		if now.found != s.found || now.size != s.size || now.inode != s.inode || !now.mod.Equal(s.mod) {
			return false
		}
	}
	return true
}

// probe finds which names that matter a directory holds without reading the directory.
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
