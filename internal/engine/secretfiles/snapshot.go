package secretfiles

import (
	"slices"
	"sync"
	"time"
)

// Snapshot is the list of hidden files at one time. See Finder.Appeared.
type Snapshot struct {
	Paths []string // as List returns them
	files []stamp
	next  int // number of the next arrival
}

// Snapshot is like List.
func (f *Finder) Snapshot(wait time.Duration) (s *Snapshot, ok bool) {
	ok = f.current(wait, func(hidden []string) {
		s = &Snapshot{Paths: slices.Clone(hidden), files: make([]stamp, len(hidden)), next: f.arrived.next()}
		for i, path := range hidden {
			s.files[i], _ = lstat(path)
		}
	})
	return s, ok
}

// Appeared returns the files that have to be hidden and weren't in the snapshot, or were replaced since: created, moved
// or linked into place, with a directory too, made readable, or no longer tracked by git. They are compared with the
// current list, so that nothing that exists now is missed, not even if watches lost events. Where directories are
// watched, it includes files that no longer exist, unless their directory was new and no longer exists either.
func (f *Finder) Appeared(since *Snapshot, wait time.Duration) (paths []string, ok bool) {
	logged, complete := []string(nil), false
	ok = f.current(wait, func(hidden []string) {
		for _, path := range hidden {
			i, was := slices.BinarySearch(since.Paths, path)
			if st, err := lstat(path); !was || err != nil || !st.same(since.files[i]) {
				paths = append(paths, path)
			}
		}
		logged, complete = f.arrived.since(since.next)
		for _, path := range logged {
			if _, now := slices.BinarySearch(hidden, path); !now {
				if _, err := lstat(path); err == nil {
					continue // such as a file that git tracks by now
				}
			}
			paths = append(paths, path)
		}
	})
	if ok && !complete {
		f.report("too many files with secret names appeared")
	}
	slices.Sort(paths)
	return slices.Compact(paths), ok && complete
}

// arrivals are the hidden files that appeared after the first walk, numbered.
type arrivals struct {
	mu      sync.Mutex
	paths   []string // the last ones
	dropped int      // how many were before these
}

const maxArrivals = 10_000

func (a *arrivals) add(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.paths) == maxArrivals {
		a.dropped += maxArrivals / 2
		a.paths = slices.Delete(a.paths, 0, maxArrivals/2)
	}
	a.paths = append(a.paths, path)
}

func (a *arrivals) next() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dropped + len(a.paths)
}

// since returns the arrivals from a number on. complete is false if some are no longer known.
func (a *arrivals) since(n int) (paths []string, complete bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.paths[max(0, n-a.dropped):]), n >= a.dropped
}
