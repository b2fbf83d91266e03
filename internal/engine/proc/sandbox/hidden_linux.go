package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// mostEntries is how many entries of directories with hidden files are allowed one by one.
const mostEntries = 20_000

// without returns the limits without the files and directories that are hidden, and without denied ones: Landlock only
// allows, so the other entries of the directories above them are allowed one by one. list are these directories: their
// names can be listed. Links are omitted: what they lead to is allowed, or isn't.
func (l *Limits) without(denied []string) (left *Limits, list []string, err error) {
	replaced, _ := l.replaced()
	w := walker{hidden: map[string]bool{}, above: map[string]bool{}, room: mostEntries}
	for _, path := range slices.Concat(l.Hide, l.Closed, replaced, denied) {
		w.hidden[path] = true
		for dir := filepath.Dir(path); !w.above[dir]; dir = filepath.Dir(dir) {
			w.above[dir] = true
		}
	}
	left = &Limits{Write: l.Write}
	if left.Read, err = w.all(l.Read); err == nil {
		left.Execute, err = w.all(l.Execute)
	}
	left.Read = append(left.Read, l.Shown...)
	return left, w.list, err
}

// walker finds what isn't hidden.
type walker struct {
	hidden, above map[string]bool
	list          []string
	room          int
}

func (w *walker) all(paths []string) (out []string, err error) {
	for _, path := range paths {
		if !w.inHidden(path) {
			if out, err = w.walk(path, out); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// inHidden reports whether a path is hidden, because of itself or a directory above it.
func (w *walker) inHidden(path string) bool {
	for ; !w.hidden[path]; path = filepath.Dir(path) {
		if path == filepath.Dir(path) {
			return false
		}
	}
	return true
}

// walk appends a path that isn't hidden or, if something in it is, the others in it.
func (w *walker) walk(path string, out []string) ([]string, error) {
	if !w.above[path] {
		return append(out, path), nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return out, nil // the command can't list it either
	}
	if !slices.Contains(w.list, path) { // it may be read and executed
		w.list = append(w.list, path)
		w.room -= len(entries)
	}
	if w.room < 0 {
		return nil, fmt.Errorf("directories with hidden files have more than %d entries", mostEntries)
	}
	for _, e := range entries {
		child := filepath.Join(path, e.Name())
		if e.Type()&fs.ModeSymlink != 0 || w.hidden[child] {
			continue
		}
		if out, err = w.walk(child, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}
