package permission

import "github.com/adze-dev/adze/tool"

// spot is a resolved path with what was found out about it. Many words of a command lead to one spot.
type spot struct {
	path  string
	names bool       // only names and attributes are looked at
	alike bool       // it stands for all strangers of its folder
	below [2]*spot   // all below it, into it and by name alone, if somebody asked
	sides [2]*aspect // as it is read, and as it is written, each if somebody asked
}

// aspect is the reading or the writing of a spot.
type aspect struct {
	found  finding
	ruling ruling
	by     *commandJudge // whose ruling this is
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

// allBelow is the folder with all that lies below it, or with all the names that do.
func (s *spot) allBelow(names bool) *spot {
	i := 0
	if names {
		i = 1
	}
	if s.below[i] == nil {
		s.below[i] = &spot{path: s.path + "/", names: names, alike: s.alike}
	}
	return s.below[i]
}

// aspect is the reading or writing of a spot, judged by the rules on paths and by the table.
func (w *commandJudge) aspect(s *spot, v tool.Verb) *aspect {
	i := 0
	if v == tool.Writes {
		i = 1
	}
	a := tool.Access{Verb: v, Target: s.path}
	side := s.sides[i]
	if side == nil {
		side = &aspect{found: w.world.look(a)}
		side.found.names = s.names
		s.sides[i] = side
	}
	if side.by != w {
		side.ruling, side.by = w.byRules(w.paths, w.bare, a, &side.found), w
	}
	return side
}
