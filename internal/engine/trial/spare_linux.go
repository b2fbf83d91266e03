package trial

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Creating and removing directories is most of the cost of a trial, so a trial that changed nothing leaves its
// directories to the next one.

// spare are the directories of a trial: empty uppers and work directories, a fence and an empty directory.
type spare struct {
	dirs  map[string]string // as in Trial
	whole bool              // nothing has to be created
}

// maxSpares is the maximum number of spares, for concurrent trials.
const maxSpares = 4

// takeSpare takes the directories of an earlier trial. Directories that are no longer empty are removed. The caller
// holds l.mu.
func (l *Layers) takeSpare() (spare, bool) {
	for n := len(l.spare); n > 0; n-- {
		s := l.spare[n-1]
		l.spare = l.spare[:n-1]
		if s.pristine(l.kept) {
			return s, true
		}
		for _, dir := range s.dirs {
			removeAll(dir) // or the session's end removes it
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

// upperIn returns the upper of a layer in a directory of a trial.
func upperIn(dir string, layer int) string {
	return filepath.Join(dir, strconv.Itoa(layer)+".upper")
}

// recycle leaves the directories of a trial to the next one, and reports whether it did: not if they aren't empty, or
// the trial was kept.
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
	if t.l.closed || len(t.l.spare) == maxSpares {
		return false
	}
	t.l.spare = append(t.l.spare, spare{dirs: t.dirs, whole: true})
	return true
}

// DropLater drops the trial in the background. A trial that is prepared meanwhile waits, to get its directories.
func (t *Trial) DropLater() {
	t.l.dropping.Lock()
	go func() {
		defer t.l.dropping.Unlock()
		_ = t.Drop() // the session's end removes what is left
	}()
}

// Isolate keeps what the command wrote to temp directories and caches from later trials. It must be called before
// Effects.
func (t *Trial) Isolate() {
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	t.alone, t.set = t.set, ""
}

// pristine reports whether an upper is empty and has only the attributes that every upper gets from the system.
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

// emptyWork removes the files of overlayfs in a work directory, and reports whether it had no others. The kernel
// doesn't mount a work directory with old files.
func emptyWork(work string) bool {
	if removeAll(filepath.Join(work, "work")) != nil {
		return false
	}
	entries, err := os.ReadDir(work)
	return err == nil && len(entries) == 0
}
