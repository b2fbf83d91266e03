package disk

import (
	"os"

	"github.com/adze-dev/adze/internal/workspace/realpath"
)

// Now is the disk for questions that belong together, as those about one command do: what was looked at for one answer
// is not looked at again for the next. It is soon out of date, and for one goroutine.
func (d *Disk) Now() *Disk {
	now := *d
	now.memo = &memo{folders: map[string]listing{}, absent: map[string]bool{}}
	return &now
}

// memo is what was looked at.
type memo struct {
	resolver realpath.Resolver
	folders  map[string]listing
	absent   map[string]bool // whether nothing stands at a path
}

// listing is the whole of a folder, or why it cannot be listed.
type listing struct {
	entries []os.DirEntry
	err     error
}

func (m *memo) resolve(path string) (abs string, exists bool, err error) {
	if m == nil {
		return new(realpath.Resolver).Resolve(path)
	}
	return m.resolver.Resolve(path)
}

func (m *memo) isAbsent(path string) bool {
	if m == nil {
		_, err := os.Lstat(path)
		return err != nil && absent(err)
	}
	is, known := m.absent[path]
	if !known {
		_, err := os.Lstat(path)
		is = err != nil && absent(err)
		m.absent[path] = is
	}
	return is
}

// list is budget.list, from memory where the folder was listed to its end.
func (m *memo) list(b *budget, dir string, visit func(os.DirEntry) bool) error {
	if m == nil {
		return b.list(dir, visit)
	}
	known, ok := m.folders[dir]
	if !ok {
		var all []os.DirEntry
		stopped := false
		err := b.list(dir, func(e os.DirEntry) bool {
			all = append(all, e)
			stopped = !visit(e)
			return !stopped
		})
		if !stopped && (err == nil || absent(err)) {
			m.folders[dir] = listing{all, err}
		}
		return err
	}
	if !b.spend(len(known.entries)) {
		return errTooMuch
	}
	for _, e := range known.entries {
		if !visit(e) {
			return nil
		}
	}
	return known.err
}
