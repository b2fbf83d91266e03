package permission

import "github.com/adze-dev/adze/tool"

// resolvedPath is a resolved path with the facts about it. Many words of a command may lead to the same resolvedPath.
type resolvedPath struct {
	path  string
	names bool             // only names and attributes are read
	below [2]*resolvedPath // everything below it: contents, and names only; nil: not looked up
	sides [2]*pathCheck    // as read, and as written; nil: not checked
}

// pathCheck is the judgment of reading or writing a path.
type pathCheck struct {
	found  finding
	ruling ruling
	by     *commandJudge // whose ruling it is
}

// at returns the resolved path.
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
	} else if s, known = l.resolved[real]; !known { // it is already resolved
		s = &resolvedPath{path: real}
		l.resolved[real] = s
	}
	l.resolved[path] = s
	return s
}

// allBelow returns everything below a directory, or only the names there.
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

// check judges the reading or writing of a path, by the rules on paths and by the table.
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
