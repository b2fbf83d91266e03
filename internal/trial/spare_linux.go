package trial

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Making and removing directories is most of what a trial costs, so a trial that
// changed nothing leaves its own to the next one.

// spare are the directories of a trial: uppers and work directories, all of them
// empty, a fence and an empty directory.
type spare struct {
	dirs  map[string]string // as in Trial
	whole bool              // nothing has to be made
}

// mostSpares is how many trials that run at a time have spare directories.
const mostSpares = 4

// takeSpare takes the directories of an earlier trial. What something has been put
// into since is removed. The caller has locked l.mu.
func (l *Layers) takeSpare() (spare, bool) {
	for n := len(l.spare); n > 0; n-- {
		s := l.spare[n-1]
		l.spare = l.spare[:n-1]
		if s.pristine(l.kept) {
			return s, true
		}
		for _, dir := range s.dirs {
			removeAll(dir) // or the session's end does
		}
	}
	return spare{}, false
}

func (s spare) pristine(kept []keptDir) bool {
	for i, p := range kept {
		if !pristine(upperIn(s.dirs[p.dir], i)) {
			return false
		}
	}
	return true
}

// upperIn returns the upper of a directory in a directory of a trial.
func upperIn(dir string, layer int) string {
	return filepath.Join(dir, strconv.Itoa(layer)+".upper")
}

// recycle leaves the directories of a trial to the next one, and reports whether
// it did: not if there is something in them, or the trial was kept.
func (t *Trial) recycle() bool {
	if t.spent || len(t.layers) != len(t.l.kept) {
		return false
	}
	for _, l := range t.layers {
		if !pristine(l.Upper) || !emptyWork(l.Work) {
			return false
		}
	}
	for _, o := range t.last {
		if !o.Instead && !emptyWork(o.Work) {
			return false
		}
	}
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	if t.l.closed || len(t.l.spare) == mostSpares {
		return false
	}
	t.l.spare = append(t.l.spare, spare{dirs: t.dirs, whole: true})
	return true
}

// pristine reports whether an upper is empty and has no attributes but those that
// every upper gets from the system.
func pristine(dir string) bool {
	f, err := openDir(unix.AT_FDCWD, dir)
	if err != nil {
		return false
	}
	defer f.Close()
	var list [1024]byte
	n, err := unix.Flistxattr(int(f.Fd()), list[:])
	if err != nil {
		return false
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list[:n]), "\x00"), "\x00") {
		switch name {
		case "", overlayPrefix + "uuid", "security.selinux":
		default:
			return false
		}
	}
	names, err := f.Readdirnames(1)
	return len(names) == 0 && err != nil
}

// emptyWork removes what overlayfs leaves in a work directory, and reports whether
// nothing else was in it. The kernel doesn't mount with what it left.
func emptyWork(work string) bool {
	if removeAll(filepath.Join(work, "work")) != nil {
		return false
	}
	entries, err := os.ReadDir(work)
	return err == nil && len(entries) == 0
}
