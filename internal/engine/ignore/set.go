package ignore

import (
	"strings"
	"unsafe"
)

// set is one ignore file, compiled so that common patterns take a map lookup: names ("node_modules"), extensions
// ("*.o"), then the few that need a real match.
type set struct {
	patterns []pattern
	names    map[string]last
	endings  map[string]last // by the text after the last dot of a name, including the dot
	globs    []int           // other patterns on the last element, highest first
	paths    []int           // patterns with a slash, highest first
	fold     bool
}

// last has the highest index, plus one, of the patterns with one key: of all kinds, and for directories only.
type last struct{ any, dir int }

func compile(ps []pattern, fold bool) *set {
	s := &set{patterns: ps, fold: fold}
	for i := len(ps) - 1; i >= 0; i-- {
		p := &ps[i]
		switch {
		case !p.base:
			s.paths = append(s.paths, i)
		case p.literal == len(p.text):
			s.names = s.note(s.names, p.text, i)
		case isEnding(p.text):
			s.endings = s.note(s.endings, p.text[1:], i)
		default:
			s.globs = append(s.globs, i)
		}
	}
	return s
}

// isEnding reports whether a pattern is "*.x" with no other dot or wildcard, so that it can be found by the last dot of
// a name.
func isEnding(p string) bool {
	return len(p) > 2 && p[0] == '*' && p[1] == '.' && !strings.ContainsAny(p[2:], `*?[\.`)
}

func (s *set) note(m map[string]last, key string, i int) map[string]last {
	if m == nil {
		m = make(map[string]last)
	}
	if s.fold {
		key = strings.ToLower(key)
	}
	l := m[key]
	if s.patterns[i].dirOnly {
		l.dir = max(l.dir, i+1)
	} else {
		l.any = max(l.any, i+1)
	}
	m[key] = l
	return m
}

func (l last) index(kind Kind) int {
	if kind == Directory {
		return max(l.any, l.dir) - 1
	}
	return l.any - 1
}

// find returns the index of the last pattern that matches an entry of d, or -1; l is the level of the set.
func (s *set) find(d *Dir, l *level, name string, kind Kind) int {
	best := -1
	key := name
	if s.fold {
		key = strings.ToLower(name)
	}
	if s.names != nil {
		best = s.names[key].index(kind)
	}
	if s.endings != nil {
		if dot := strings.LastIndexByte(key, '.'); dot >= 0 {
			best = max(best, s.endings[key[dot:]].index(kind))
		}
	}
	for _, i := range s.globs {
		if i < best {
			break
		}
		p := &s.patterns[i]
		if (!p.dirOnly || kind == Directory) && s.matchesName(p, name) {
			best = i
			break
		}
	}
	if len(s.paths) == 0 || s.paths[0] < best {
		return best
	}
	var buf [256]byte
	path := d.relative(buf[:0], l, name)
	for _, i := range s.paths {
		if i < best {
			break
		}
		p := &s.patterns[i]
		if (!p.dirOnly || kind == Directory) && p.matchesPath(view(path), s.fold) {
			return i
		}
	}
	return best
}

// view returns bytes as a string without copying them. The bytes must not change while it is in use.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func (s *set) matchesName(p *pattern, name string) bool {
	if len(name) < p.literal || !samePrefix(name, p.text[:p.literal], s.fold) {
		return false
	}
	return wild{fold: s.fold}.matches(p.text, name)
}
