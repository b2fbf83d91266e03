package permission

import "github.com/adze-dev/adze/tool"

// resolvedPath is a resolved path with what was found out about it. Many words of a command lead to one resolvedPath.
type resolvedPath struct {
	path  string
	names bool             // only names and attributes are looked at
	below [2]*resolvedPath // all below it, into it and by name alone, if looked up
	sides [2]*pathCheck    // as it is read, and as it is written, each if looked up
}

// pathCheck is the reading or the writing of a path.
type pathCheck struct {
	found  finding
	ruling ruling
	by     *commandJudge // whose ruling this is
}

// at returns where a path leads.
func (l *cache) at(path string) *resolvedPath {
	s, known := l.resolved[path]
	if known {
		return s
	}
	real := clean(path)
	if l.disk != nil {
		real = l.disk.Resolve(path)
	}
	if real == path {
		s = &resolvedPath{path: real}
	} else if s, known = l.resolved[real]; !known { // resolving it again changes nothing
		s = &resolvedPath{path: real}
		l.resolved[real] = s
	}
	l.resolved[path] = s
	return s
}

// allBelow returns the directory with all that is below it, or with all the names that do.
func (s *resolvedPath) allBelow(names bool) *resolvedPath {
	i := 0
	if names {
		i = 1
	}
	if s.below[i] == nil {
		s.below[i] = &resolvedPath{path: s.path + "/", names: names}
	}
	return s.below[i]
}

// check returns the reading or writing of a path, judged by the rules on paths and by the table.
func (w *commandJudge) check(s *resolvedPath, v tool.Verb) *pathCheck {
	i := 0
	if v == tool.Writes {
		i = 1
	}
	a := tool.Access{Verb: v, Target: s.path}
	side := s.sides[i]
	if side == nil {
		side = &pathCheck{found: w.world.look(a)}
		side.found.names, side.found.inCommand = s.names, true
		s.sides[i] = side
	}
	if side.by != w {
		side.ruling, side.by = w.byRules(w.paths, w.bare, a, &side.found), w
	}
	return side
}
