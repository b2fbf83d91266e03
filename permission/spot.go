package permission

import "github.com/adze-dev/adze/tool"

// spot is a resolved path with what was found out about it. Many words of a command lead to one spot.
type spot struct {
	path  string
	below *spot // all below it, if somebody asked

	// As it is read, and as it is written, each if somebody asked.
	found   [2]finding
	isFound [2]bool
	rulings [2]ruling
	by      [2]*weighing // whose rulings these are
}

// at is where a path leads.
func (l *looked) at(path string) *spot {
	s, known := l.spots[path]
	if known {
		return s
	}
	real := clean(path)
	if l.disk != nil {
		real = l.disk.Resolve(path)
	}
	if real == path {
		s = &spot{path: real}
	} else if s, known = l.spots[real]; !known { // resolving it again changes nothing
		s = &spot{path: real}
		l.spots[real] = s
	}
	l.spots[path] = s
	return s
}

// allBelow is the folder with all that lies below it.
func (s *spot) allBelow() *spot {
	if s.below == nil {
		s.below = &spot{path: s.path + "/"}
	}
	return s.below
}

// finding is what was found of the spot when it was judged.
func (s *spot) finding(v tool.Verb) *finding { return &s.found[verbIndex(v)] }

func verbIndex(v tool.Verb) int {
	if v == tool.Writes {
		return 1
	}
	return 0
}

// ruling judges the reading or writing of a spot by the rules on paths and by the table.
func (w *weighing) ruling(s *spot, v tool.Verb) *ruling {
	i := verbIndex(v)
	if s.by[i] == w {
		return &s.rulings[i]
	}
	a := tool.Access{Verb: v, Target: s.path}
	if !s.isFound[i] {
		s.found[i], s.isFound[i] = w.world.look(a), true
	}
	s.rulings[i], s.by[i] = w.byRules(w.paths, w.bare, a, &s.found[i]), w
	return &s.rulings[i]
}
