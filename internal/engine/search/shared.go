package search

import (
	"slices"
	"sync"
	"time"

	"github.com/adze-dev/adze/internal/engine/ignore"
)

// Shared is what the searches of a session share: the entries of directories with their ignore rules, and passes over
// the files. The zero value is ready. It is safe for concurrent use.
//
// A search opens each directory; its times and those of the ignore files in it show whether what was found before is
// still true. Searches that begin at almost the same time in the same place with the same Rules are one pass, which
// reads each file once.
type Shared struct {
	mu     sync.Mutex
	dirs   map[string]*listing // by path
	size   int                 // of dirs
	passes []*pass

	window time.Duration // for tests: how long a pass can be joined, instead of joinTime
	limit  int           // for tests: instead of maxListings
}

const (
	// joinTime is how long other searches can join a pass, which begins again then: what is lost is short.
	joinTime = 25 * time.Millisecond
	// maxMembers is the maximum number of searches in a pass: the bits of members.
	maxMembers = 16
	// maxListings bounds the memory of listings: some 800,000 files.
	maxListings = 40 << 20
)

// stamp is the version of a directory: with other entries, it has another one.
type stamp struct {
	device, inode     uint64
	modified, changed int64 // nanoseconds
}

// settled reports whether a directory that is read later than that can't change without a change of its times, which
// are rounded to ticks of the kernel, on some file systems to seconds.
func (s stamp) settled(began time.Time) bool {
	tick := 50 * time.Millisecond
	if s.modified%int64(time.Second) == 0 && s.changed%int64(time.Second) == 0 {
		tick = 2 * time.Second
	}
	return max(s.modified, s.changed) < began.Add(-tick).UnixNano()
}

// listing is the content of a directory. It is immutable.
type listing struct {
	stamp  stamp
	parent *ignore.Dir // the rules that rules was made from
	rules  *ignore.Dir // those that the verdicts of the entries are by
	dirEntries
}

// bytes returns the memory of a listing, with its path and its rules.
func (l *listing) bytes() int { return len(l.names) + 12*len(l.entries) + 500 }

// find returns the listing of a directory, or nil if that version of it is not kept.
func (s *Shared) find(path string, at stamp) *listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.dirs[path]; l != nil && l.stamp == at {
		return l
	}
	return nil
}

// keep stores a listing, if there is room.
func (s *Shared) keep(path string, l *listing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dirs == nil {
		s.dirs = map[string]*listing{}
	}
	if old := s.dirs[path]; old != nil {
		delete(s.dirs, path)
		s.size -= old.bytes()
	}
	limit := maxListings
	if s.limit > 0 {
		limit = s.limit
	}
	if s.size+l.bytes() <= limit {
		s.dirs[path] = l
		s.size += l.bytes()
	}
}

// look returns the entries of a directory and sets its rules. What an earlier search found is used if it is still true.
func (k *worker) look(at *openDir, j *job) (*dirEntries, error) {
	shared, tree := k.walk.shared, k.walk.tree != nil
	version, keeps := at.handle.stamp()
	keeps = keeps && shared != nil && !tree && version.settled(k.walk.began)
	path := ""
	var old *listing
	if keeps {
		path = j.path()
		old = shared.find(path, version)
	}
	list := &k.list
	if old != nil {
		list = &old.dirEntries
	} else if err := at.handle.list(list); err != nil {
		return nil, err
	}
	if at.rules == nil && old != nil && old.parent == j.rules && old.rules.Current() {
		at.rules = old.rules
	}
	if at.rules == nil {
		var marks ignore.Marks
		for _, e := range list.entries {
			marks |= j.rules.Mark(view(list.name(e)))
		}
		at.rules = j.rules.Enter(j.name, marks)
	}
	if old != nil && old.rules == at.rules {
		return list, nil
	}
	if old != nil { // with other rules
		list = &dirEntries{names: old.names, entries: slices.Clone(old.entries)}
	}
	for i := range list.entries {
		e := &list.entries[i]
		name := list.name(*e)
		if e.kind == unknownKind {
			e.kind, _, _ = at.handle.stat(name, false)
		}
		if !tree {
			e.state = uint8(at.rules.Match(view(name), e.kind == directory).State)
		}
	}
	if keeps {
		l := &listing{stamp: version, parent: j.rules, rules: at.rules, dirEntries: *list}
		if old == nil {
			l.dirEntries = dirEntries{names: slices.Clone(list.names), entries: slices.Clone(list.entries)}
		}
		shared.keep(path, l)
	}
	return list, nil
}
