package workspace

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// Hash is the SHA-256 of a file's bytes on disk.
type Hash = [sha256.Size]byte

// Knowledge is how much of a file's current content a session has read.
type Knowledge int

// The results of Seen.Check, from least to most.
const (
	Unread  Knowledge = iota // never read
	Opaque                   // read, but not as text: a picture, an archive
	Changed                  // read, but the content has changed since
	Partly                   // some lines of the current content
	Whole                    // all of it
)

// Reading is the result of Seen.Check.
type Reading struct {
	Knowledge Knowledge
	Missing   []Range // the unread lines, if Partly
	Lines     int     // number of lines, if Partly or Whole
	Was       string  // the text that was read, if Changed and it was kept
}

// Seen records for a session which content of which file was read, by hash and never by timestamps. The zero value is
// ready. It is safe for concurrent use.
type Seen struct {
	// AtFirstSight makes a file count as completely read when it is first checked: for a session of a single call.
	AtFirstSight bool
	// Limit is the maximum number of files, 4096 if zero; the least recently used one is dropped, and has to be read
	// again.
	Limit int

	mu    sync.Mutex
	files map[string]*list.Element // of *seenFile
	order list.List                // most recently used first
	fresh map[string]bool          // paths whose record changed since Take returned it
	kept  int                      // bytes of the kept texts
}

type seenFile struct {
	path   string
	hash   Hash
	opaque bool
	whole  bool
	lines  int
	read   ranges
	text   string // "": not kept
}

const (
	maxKept    = 256 << 10 // of a text that is kept
	maxKeptAll = 16 << 20
)

// Keep keeps the text of a recorded content, so that a later change can be shown: short texts of the most recently used
// files.
func (s *Seen) Keep(path string, hash Hash, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.files[path]
	if !ok || e.Value.(*seenFile).hash != hash || len(text) > maxKept {
		return
	}
	f := e.Value.(*seenFile)
	s.drop(f)
	f.text = text
	s.kept += len(text)
	for e := s.order.Back(); e != nil && s.kept > maxKeptAll; e = e.Prev() {
		s.drop(e.Value.(*seenFile))
	}
}

// drop drops the text of a record.
func (s *Seen) drop(f *seenFile) {
	s.kept -= len(f.text)
	f.text = ""
}

// RecordWhole records that the whole content with that hash was read or written.
func (s *Seen) RecordWhole(path string, hash Hash, lines int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.at(path, hash)
	f.whole, f.lines, f.read = true, lines, nil
}

// Record records that some lines of the content with that hash were read. Ranges of one content are combined; those of
// an older content are dropped.
func (s *Seen) Record(path string, hash Hash, lines int, read ...Range) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.at(path, hash)
	if f.whole {
		return
	}
	f.lines = lines
	for _, r := range read {
		f.read = f.read.add(r)
	}
	f.whole = len(f.read.missing(lines)) == 0
}

// RecordOpaque records that a file was read but not shown as text. Existing records of its content are kept, such as of
// a document that this session wrote.
func (s *Seen) RecordOpaque(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := Hash{}
	if e, ok := s.files[path]; ok {
		hash = e.Value.(*seenFile).hash
	}
	s.at(path, hash).opaque = true
}

// RecordEdit records that this session turned content before into after by the given line changes (ascending, in the
// old numbering), so that known lines stay known and the new lines are known too.
func (s *Seen) RecordEdit(path string, before, after Hash, lines int, changes ...LineChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := seenFile{}
	if e, ok := s.files[path]; ok && e.Value.(*seenFile).hash == before {
		old = *e.Value.(*seenFile)
	}
	f := s.at(path, after)
	f.lines, f.read = lines, old.read.shift(changes)
	f.whole = old.whole || len(f.read.missing(lines)) == 0
}

// Check returns what is known about a file whose current content has that hash.
func (s *Seen) Check(path string, now Hash) Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.files[path]
	if !ok {
		if !s.AtFirstSight {
			return Reading{Knowledge: Unread}
		}
		s.at(path, now).whole = true
		return Reading{Knowledge: Whole}
	}
	s.order.MoveToFront(e)
	f := e.Value.(*seenFile)
	switch {
	case f.hash != now && f.opaque:
		return Reading{Knowledge: Opaque}
	case f.hash != now:
		return Reading{Knowledge: Changed, Was: f.text}
	case f.whole:
		return Reading{Knowledge: Whole, Lines: f.lines}
	}
	return Reading{Knowledge: Partly, Missing: f.read.missing(f.lines), Lines: f.lines}
}

// Forget drops the record of a file, such as after it was removed.
func (s *Seen) Forget(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.files[path]; ok {
		s.drop(e.Value.(*seenFile))
		s.order.Remove(e)
		delete(s.files, path)
		s.touch(path)
	}
}

// touch records that the record of a path changed.
func (s *Seen) touch(path string) {
	if s.fresh == nil {
		s.fresh = map[string]bool{}
	}
	s.fresh[path] = true
}

// at returns the record of a path, emptied if it was for another content.
func (s *Seen) at(path string, hash Hash) *seenFile {
	s.touch(path)
	if e, ok := s.files[path]; ok {
		s.order.MoveToFront(e)
		f := e.Value.(*seenFile)
		if f.hash != hash {
			s.drop(f)
			*f = seenFile{path: path, hash: hash}
		}
		f.opaque = false
		return f
	}
	if s.files == nil {
		s.files = map[string]*list.Element{}
	}
	f := &seenFile{path: path, hash: hash}
	s.files[path] = s.order.PushFront(f)
	limit := s.Limit
	if limit <= 0 {
		limit = 4096
	}
	for s.order.Len() > limit {
		old := s.order.Remove(s.order.Back()).(*seenFile)
		s.drop(old)
		delete(s.files, old.path)
		delete(s.fresh, old.path)
	}
	return f
}
