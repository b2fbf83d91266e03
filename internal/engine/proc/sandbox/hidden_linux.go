package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// maxEntries is how many entries of directories with hidden files are allowed one by one.
const maxEntries = 20_000

// without returns the limits without the files and directories that covers hide: Landlock only allows, so the other
// entries of the directories above them are allowed one by one. list are these directories: their names can be listed.
// Links are omitted: what they lead to is allowed, or isn't.
func (l *Limits) without(covers []Cover) (left *Limits, list []string, err error) {
	covers = Ordered(covers)
	w := walker{hidden: map[string]bool{}, above: map[string]bool{}, room: maxEntries}
	for _, path := range Covered(covers, Unreadable, Empty, Replaced, Closed) {
		w.hidden[path] = true
		for dir := filepath.Dir(path); !w.above[dir]; dir = filepath.Dir(dir) {
			w.above[dir] = true
		}
	}
	left = &Limits{Write: l.Write}
	if left.Read, err = w.all(l.Read); err == nil {
		left.Execute, err = w.all(l.Execute)
	}
	for _, path := range Covered(covers, Shown) {
		if err == nil && !w.hidden[path] {
			left.Read, err = w.walk(path, left.Read)
		}
	}
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
		if !names.BelowAny(path, w.hidden) {
			if out, err = w.walk(path, out); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
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
		return nil, fmt.Errorf("directories with hidden files have more than %d entries", maxEntries)
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
