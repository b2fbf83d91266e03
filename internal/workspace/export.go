package workspace

import (
	"maps"
	"slices"
)

// Record is what a session has read of a file, as data that outlives it.
type Record struct {
	Path   string
	Hash   Hash
	Lines  int
	Whole  bool
	Opaque bool
	Gone   bool    // nothing is known of the file anymore
	Read   []Range // if not Whole
}

// Take returns the records that changed since it last returned them, sorted by path: those of paths that of accepts.
func (s *Seen) Take(of func(path string) bool) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Record
	for _, path := range slices.Sorted(maps.Keys(s.fresh)) {
		if !of(path) {
			continue
		}
		delete(s.fresh, path)
		e, ok := s.files[path]
		if !ok {
			out = append(out, Record{Path: path, Gone: true})
			continue
		}
		f := e.Value.(*seenFile)
		r := Record{Path: path, Hash: f.hash, Lines: f.lines, Whole: f.whole, Opaque: f.opaque}
		if !f.whole {
			r.Read = slices.Clone(f.read)
		}
		out = append(out, r)
	}
	return out
}

// Restore adds records of an earlier session. A file that has changed since counts as changed, because its hash differs.
func (s *Seen) Restore(records []Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		if r.Gone {
			continue
		}
		f := s.at(r.Path, r.Hash)
		f.opaque, f.whole, f.lines, f.read = r.Opaque, r.Whole, r.Lines, nil
		for _, lines := range r.Read {
			f.read = f.read.add(lines)
		}
		delete(s.fresh, r.Path)
	}
}
