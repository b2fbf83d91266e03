package files

import (
	"bytes"
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/app/tui"
)

// fileNames are paths as they are compared with a pattern. All texts are in two blocks without pointers, so that
// 100,000 of them cost the garbage collector nothing.
type fileNames struct {
	texts, lowers []byte
	names         []fileName
	note          string // what is missing, for the user

	mu      sync.Mutex
	last    string      // the pattern before; "": none
	matched []fileMatch // what it matched
	spare   []fileMatch // a buffer for the next one
}

// fileName is a path.
type fileName struct {
	text, lower             uint32 // where it starts in texts and in lowers
	textLen, lowerLen, base uint16 // base: where the last element of lower starts
	depth                   uint16 // directories above the file
	letters                 uint64 // that occur
}

// fileMatch is how far the characters of a pattern were found in a path. A longer pattern continues there.
type fileMatch struct {
	name uint32
	at   uint16 // behind the last character
	gaps uint16
	kind matchKind
}

// matchKind is how a path contains a pattern; the first is the best.
type matchKind uint8

const (
	startsName matchKind = iota
	startsPath
	inPath
	scattered
)

const (
	// maxTyped is the length of the longest path that is offered.
	maxTyped = 4096
	// fewNames are matched by one goroutine.
	fewNames = 8192
)

func newFileNames(size int) *fileNames {
	return &fileNames{names: make([]fileName, 0, size)}
}

// add appends a path, which has slashes.
func (l *fileNames) add(path string) {
	if len(path) > maxTyped {
		return
	}
	lower := strings.ToLower(path)
	l.names = append(l.names, fileName{
		text: uint32(len(l.texts)), textLen: uint16(len(path)), depth: uint16(strings.Count(path, "/")),
		lower: uint32(len(l.lowers)), lowerLen: uint16(len(lower)), base: uint16(strings.LastIndexByte(lower, '/') + 1),
		letters: lettersOf(lower),
	})
	l.texts, l.lowers = append(l.texts, path...), append(l.lowers, lower...)
}

// lettersOf is the set of characters in a text. Some share a bit.
func lettersOf(s string) (set uint64) {
	for i := range len(s) {
		set |= 1 << (s[i] & 63)
	}
	return set
}

// match returns the files whose path contains the characters of a pattern in order, best first.
func (l *fileNames) match(pattern string) []tui.Candidate {
	best := l.best(strings.ReplaceAll(strings.ToLower(pattern), `\ `, " "))
	out := make([]tui.Candidate, 0, len(best)+1)
	for _, f := range best {
		out = append(out, tui.Candidate{Text: "@" + quotedPath(string(l.text(f.name)))})
	}
	if l.note != "" {
		out = append(out, tui.Candidate{About: l.note})
	}
	return out
}

// quotedPath escapes the spaces of a path, as @ paths are written.
func quotedPath(path string) string { return strings.ReplaceAll(path, " ", `\ `) }

func (l *fileNames) text(name uint32) []byte {
	f := &l.names[name]
	return l.texts[f.text : f.text+uint32(f.textLen)]
}

// scored is a match and its score; a lower one is better.
type scored struct {
	name  uint32
	score int
}

func (l *fileNames) compare(a, b scored) int {
	if a.score != b.score {
		return cmp.Compare(a.score, b.score)
	}
	return bytes.Compare(l.text(a.name), l.text(b.name))
}

// best finds the best matches, among those of the pattern before if this one continues it. The parts of a long list are
// matched at the same time.
func (l *fileNames) best(pattern string) []scored {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := fileSearch{list: l, pattern: []byte(pattern), more: []byte(pattern), letters: lettersOf(pattern)}
	size := len(l.names)
	if l.last != "" && strings.HasPrefix(pattern, l.last) {
		s.among, s.more, size = l.matched, s.pattern[len(l.last):], len(l.matched)
	}
	if cap(l.spare) < size {
		l.spare = make([]fileMatch, size)
	}
	s.into = l.spare[:size]
	parts := 1
	if size > fewNames {
		parts = min(8, runtime.GOMAXPROCS(0))
	}
	found := make([]filePart, parts)
	var wg sync.WaitGroup
	for p := range parts {
		wg.Go(func() { found[p] = s.part(p*size/parts, (p+1)*size/parts) })
	}
	wg.Wait()
	var best []scored
	matched := l.spare[:0]
	for _, f := range found {
		best = append(best, f.best...)
		matched = append(matched, f.matched...) // moves them down
	}
	slices.SortFunc(best, l.compare)
	if pattern != "" {
		l.last, l.matched, l.spare = pattern, matched, l.matched
	}
	return best[:min(len(best), maxMatches)]
}

// fileSearch is a pattern that is being matched.
type fileSearch struct {
	list    *fileNames
	pattern []byte
	more    []byte // the end of the pattern that among was not compared with
	letters uint64
	among   []fileMatch // nil: all
	into    []fileMatch // as many as there are names or among
}

// filePart is what was found in a part.
type filePart struct {
	best    []scored
	matched []fileMatch
}

// part matches a part.
func (s *fileSearch) part(from, to int) filePart {
	out := filePart{best: make([]scored, 0, maxMatches+1), matched: s.into[from:from]}
	for i := from; i < to; i++ {
		m := fileMatch{name: uint32(i)}
		if s.among != nil {
			m = s.among[i]
		}
		f := &s.list.names[m.name]
		if f.letters&s.letters != s.letters || !s.extend(f, &m) {
			continue
		}
		out.matched = append(out.matched, m)
		this := scored{m.name, s.score(f, m)}
		if n := len(out.best); n == maxMatches && s.list.compare(this, out.best[n-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(out.best, this, s.list.compare)
		out.best = slices.Insert(out.best, at, this)
		out.best = out.best[:min(len(out.best), maxMatches)]
	}
	return out
}

// extend finds the rest of the pattern in a path, and how the path contains the whole pattern.
func (s *fileSearch) extend(f *fileName, m *fileMatch) bool {
	lower := s.list.lowers[f.lower : f.lower+uint32(f.lowerLen)]
	for _, c := range s.more {
		n := bytes.IndexByte(lower[m.at:], c)
		if n < 0 {
			return false
		}
		if n > 0 {
			m.gaps++
		}
		m.at += uint16(n) + 1
	}
	switch {
	case m.kind == scattered: // a longer pattern is so too
	case bytes.HasPrefix(lower[f.base:], s.pattern):
		m.kind = startsName
	case bytes.HasPrefix(lower, s.pattern):
		m.kind = startsPath
	case bytes.Contains(lower, s.pattern):
		m.kind = inPath
	default:
		m.kind = scattered
	}
	return true
}

// score is lower for few gaps, late in the path, a short path.
func (s *fileSearch) score(f *fileName, m fileMatch) int {
	length := int(f.textLen)
	switch {
	case len(s.pattern) == 0:
		return int(f.depth)*100 + length
	case m.kind == startsName:
		return length
	case m.kind == startsPath:
		return 200 + length
	case m.kind == inPath:
		return 1000 + length
	}
	return 2000 + int(m.gaps)*100 + length
}
