package undo

import (
	"slices"
	"sort"

	"github.com/adze-dev/adze/internal/engine/search"
)

// known is a path as it was last seen. There may be a million of them.
type known struct {
	stat  search.Stat
	sum   *hash  // of a saved file; nil for others
	held  *held  // saved copy of a large file; nil: none
	text  string // target of a link; or why it isn't saved
	round uint32 // of the scan that saw it
	kind  kind
	shut  bool // not entered: ignored
	racy  bool // it may have changed within the resolution of its time
}

// kind is what a path is.
type kind uint8

const (
	isNothing kind = iota
	isFile         // that is saved
	isLink
	isEntered // directory
	isNode    // that isn't saved, or has a held copy
	isOther   // such as a pipe
)

// state returns the state for the journal.
func (k *known) state() State {
	mode := k.stat.Mode & modeBits
	switch k.kind {
	case isNothing:
		return State{}
	case isFile:
		return State{name(*k.sum), mode}
	case isLink:
		return linkTo(k.text)
	case isEntered:
		return State{isDir, mode}
	case isNode:
		return nodeState(k.stat)
	}
	return State{isUnsaved, mode}
}

// why returns why it isn't saved; "": it is.
func (k *known) why() string {
	if k.kind == isLink {
		return ""
	}
	return k.text
}

// onlyMode uses the content from before the mode change for a file that can't be read.
func (k *known) onlyMode(old known) {
	a, b := k.stat, old.stat
	if k.kind == isNode && k.racy && old.kind == isFile && a.Size == b.Size && a.Modified == b.Modified &&
		a.Inode == b.Inode && a.Mode != b.Mode {
		k.kind, k.sum = isFile, old.sum
	}
}

// held is a copy of a large file in the store, which is hashed when the file has changed.
type held struct {
	path string // "": it is hashed
	size int64  // 0: it is a clone
	sum  hash
	err  error
}

// settle hashes the copy of a large file, because the file has changed.
func (s *snapshot) settle(k *known) {
	h := k.held
	if h == nil {
		return
	}
	if h.path != "" {
		var fresh bool
		if h.sum, fresh, h.err = s.store.settle(h.path); h.err == nil && !fresh {
			s.saved.Add(-h.size)
		}
		h.path = ""
	}
	if k.held = nil; h.err != nil {
		k.text = h.err.Error()
		return
	}
	k.kind, k.sum = isFile, &h.sum
}

// hash returns the hash of a saved large file.
func (k *known) hash(s *Store) (hash, error) {
	switch {
	case k.held == nil:
		return *k.sum, nil
	case k.held.path != "":
		return s.hashOf(k.held.path)
	}
	return k.held.sum, k.held.err
}

// index indexes the large files, if there are new ones: they may have been moved.
func (s *snapshot) index(nodes []search.Node) {
	s.large = nil
	if !slices.ContainsFunc(nodes, func(n search.Node) bool { return n.Stat.Size > packed && s.paths[n.Path] == nil }) {
		return
	}
	s.large = map[string]*known{}
	for _, k := range s.paths {
		if k.held != nil || k.stat.Size > packed && k.kind == isFile {
			s.large[nodeState(k.stat).Is] = k
		}
	}
}

// newest bounds the number of files that are saved at first, to those that were modified last.
type newest struct {
	since int64 // files that were modified before it aren't saved; 0: all are
	same  int64 // how many of those that were modified at that time are saved
}

func (s *snapshot) findNewest(nodes []search.Node) {
	var times []int64
	for _, n := range nodes {
		if n.Stat.Mode.IsRegular() {
			times = append(times, n.Stat.Modified)
		}
	}
	if len(times) <= s.limits.Files {
		return
	}
	sort.Slice(times, func(i, j int) bool { return times[i] > times[j] })
	s.newest.since = times[s.limits.Files]
	for i := s.limits.Files - 1; i >= 0 && times[i] == s.newest.since; i-- {
		s.newest.same++
	}
}

// omits reports whether a file isn't saved because there are too many.
func (s *snapshot) omits(n search.Node) bool {
	if s.round > 1 {
		old := s.paths[n.Path]
		return old != nil && old.text == whyMany && old.stat == n.Stat
	}
	if s.newest.since == 0 || n.Stat.Modified > s.newest.since {
		return false
	}
	return n.Stat.Modified < s.newest.since || s.omitted.Add(1) > s.newest.same
}
