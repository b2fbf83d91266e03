package names

import (
	"strings"
	"sync"
)

// Ordinary reports whether no table here speaks of a component's name, in whatever folder it stands. In one folder all
// ordinary names are judged alike.
func Ordinary(name string) bool {
	name = fold(name)
	t := special()
	if name == "" || name[0] == '.' || t.names[name] {
		return false
	}
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 && t.endings[name[dot:]] {
		return false
	}
	for i := range t.starred {
		if t.starred[i].match(name) {
			return false
		}
	}
	return true
}

// special are the components of all tables: whole names, the endings of those like *.pem, and others with a star.
// Names with a dot in front are left out, as none of them is ordinary, and so is a star that stands for any name.
var special = sync.OnceValue(func() (t struct {
	names, endings map[string]bool
	starred        []starred
}) {
	t.names, t.endings = map[string]bool{}, map[string]bool{}
	for _, table := range [][]rule{protected, secretFiles, secretFolders, systemSecrets} {
		for _, r := range table {
			for c := range strings.SplitSeq(r.chain, "/") {
				switch s := newStarred(c); {
				case c[0] == '.' || c == "*":
				case !s.star:
					t.names[c] = true
				case s.head == "" && strings.LastIndexByte(s.tail, '.') == 0:
					t.endings[s.tail] = true
				default:
					t.starred = append(t.starred, s)
				}
			}
		}
	}
	return t
})
