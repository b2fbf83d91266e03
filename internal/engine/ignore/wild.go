package ignore

import "strings"

// outcome is the result of a wildcard match. The two kinds of failure keep backtracking linear in practice: a match
// that failed after a star can't succeed if an earlier star of the same kind matches more.
type outcome int

const (
	match outcome = iota
	noMatch
	stopAll      // the text or the pattern ended early: no star can help
	stopToDouble // a slash is in the way: only ** can help
)

// wild is git's wildmatch. In path mode "*", "?" and classes don't match a slash; "**" between slashes does.
type wild struct {
	path bool
	fold bool
}

// Glob matches a path with forward slashes against a pattern like git: "*" and "?" don't match a slash, "**" as a whole
// segment matches any number of directories, classes and escapes are as in gitignore(5). Braces are literal.
func Glob(pattern, path string, anyCase bool) bool {
	return wild{path: true, fold: anyCase}.matches(pattern, path)
}

func (w wild) matches(p, t string) bool { return w.run(p, t) == match }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func (w wild) norm(c byte) byte {
	if w.fold {
		return lower(c)
	}
	return c
}

func (w wild) run(p, t string) outcome {
	ti := 0
	for pi := 0; pi < len(p); pi++ {
		c := w.norm(p[pi])
		if ti == len(t) && c != '*' {
			return stopAll
		}
		switch c {
		case '*':
			next, deep := w.stars(p, pi)
			if deep && w.path && next < len(p) && p[next] == '/' && w.run(p[next+1:], t[ti:]) == match {
				return match // "**/" also matches nothing
			}
			if next < len(p) && !deep && p[next] == '/' {
				i := strings.IndexByte(t[ti:], '/')
				if i < 0 {
					return noMatch
				}
				pi, ti = next, ti+i+1
				continue
			}
			return w.star(p[next:], t[ti:], deep)
		case '?':
			if w.path && t[ti] == '/' {
				return noMatch
			}
		case '[':
			end, ok := w.class(p, pi, w.norm(t[ti]))
			if end < 0 {
				return stopAll
			}
			if !ok || (w.path && t[ti] == '/') {
				return noMatch
			}
			pi = end
		case '\\':
			pi++
			if pi == len(p) || w.norm(p[pi]) != w.norm(t[ti]) {
				return noMatch
			}
		default:
			if c != w.norm(t[ti]) {
				return noMatch
			}
		}
		ti++
	}
	if ti < len(t) {
		return noMatch
	}
	return match
}

// stars returns the end of a run of stars that begins at i, and whether it matches slashes. In path mode it does so
// only as a whole segment; the start of p counts as the start of a segment even if a literal prefix was removed, as in
// git.
func (w wild) stars(p string, i int) (next int, deep bool) {
	next = i
	for next < len(p) && p[next] == '*' {
		next++
	}
	if !w.path {
		return next, true
	}
	if next-i < 2 || (i > 0 && p[i-1] != '/') {
		return next, false
	}
	rest := p[next:]
	return next, rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`)
}

// star matches the rest of the pattern at every position of t that the stars may reach.
func (w wild) star(rest, t string, deep bool) outcome {
	if rest == "" {
		if !deep && strings.IndexByte(t, '/') >= 0 {
			return noMatch
		}
		return match
	}
	literal := strings.IndexByte(`*?[\`, rest[0]) < 0
	for i := 0; i < len(t); i++ {
		if literal {
			for i < len(t) && w.norm(t[i]) != w.norm(rest[0]) && (deep || t[i] != '/') {
				i++
			}
			if i == len(t) || w.norm(t[i]) != w.norm(rest[0]) {
				return noMatch
			}
		}
		switch o := w.run(rest, t[i:]); {
		case o == noMatch:
			if !deep && t[i] == '/' {
				return stopToDouble
			}
		case !deep || o != stopToDouble:
			return o
		}
	}
	return stopAll
}
