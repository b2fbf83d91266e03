package names

import (
	"strings"
	"sync"
)

// Ordinary reports whether no table here speaks of a component's name, in whatever directory it stands. In one
// directory all ordinary names are judged alike.
func Ordinary(name string) bool {
	name = original(fold(name))
	if name == "" || name[0] == '.' {
		return false
	}
	t := special()
	first := &t.byFirst[name[0]]
	if first.lengths&bit(name) != 0 && t.names[name] {
		return false
	}
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 && t.endings[name[dot:]] {
		return false
	}
	return !anyMatch(first.starred, name) && !anyMatch(t.headless, name)
}

func anyMatch(patterns []starred, name string) bool {
	for i := range patterns {
		if patterns[i].match(name) {
			return true
		}
	}
	return false
}

// bit stands for the length of a name.
func bit(name string) uint64 { return 1 << min(len(name), 63) }

// specials are the components of all tables: whole names, the endings of those like *.pem, and others with a star.
// Names with a dot in front are left out, as none of them is ordinary, and so is a star that stands for any name.
type specials struct {
	names, endings map[string]bool
	headless       []starred // that begin with the star
	byFirst        [256]struct {
		lengths uint64 // of the whole names that begin with this byte, a bit each
		starred []starred
	}
}

var special = sync.OnceValue(func() *specials {
	t := &specials{names: map[string]bool{}, endings: map[string]bool{}}
	for _, table := range [][]rule{protected, secretFiles, namedSecrets, secretFolders, systemSecrets} {
		for _, r := range table {
			for c := range strings.SplitSeq(r.chain, "/") {
				t.add(c)
			}
		}
	}
	return t
})

func (t *specials) add(c string) {
	first := &t.byFirst[c[0]]
	switch s := newStarred(c); {
	case c[0] == '.' || c == "*":
	case !s.star:
		t.names[c] = true
		first.lengths |= bit(c)
	case s.head == "" && strings.LastIndexByte(s.tail, '.') == 0:
		t.endings[s.tail] = true
	case s.head == "":
		t.headless = append(t.headless, s)
	default:
		first.starred = append(first.starred, s)
	}
}
