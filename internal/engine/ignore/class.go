package ignore

import "strings"

// class matches one byte against the bracket expression that begins at p[i]. end is the index of its closing bracket,
// or -1 if the expression is malformed, which never matches.
func (w wild) class(p string, i int, c byte) (end int, ok bool) {
	i++
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	found := false
	prev := -1 // the previous byte, if it may begin a range
	for first := true; ; first = false {
		if i >= len(p) {
			return -1, false
		}
		if p[i] == ']' && !first {
			return i, found != negated
		}
		next := i + 1
		switch {
		case p[i] == '\\':
			if next == len(p) {
				return -1, false
			}
			found = found || w.norm(p[next]) == c
			prev, next = int(p[next]), next+1
		case p[i] == '-' && prev > 0 && next < len(p) && p[next] != ']':
			if p[next] == '\\' {
				next++
			}
			if next == len(p) {
				return -1, false
			}
			found = found || w.between(byte(prev), p[next], c)
			prev, next = -1, next+1
		case strings.HasPrefix(p[i:], "[:") && closesClass(p[i+2:]):
			name, _, _ := strings.Cut(p[i+2:], "]")
			in, known := w.named(strings.TrimSuffix(name, ":"), c)
			if !known {
				return -1, false
			}
			found = found || in
			prev, next = -1, i+2+len(name)+1
		case strings.HasPrefix(p[i:], "[:") && strings.IndexByte(p[i+2:], ']') < 0:
			return -1, false
		default:
			found = found || w.norm(p[i]) == c
			prev = int(p[i])
		}
		i = next
	}
}

// closesClass reports whether "[:" begins a named class, that is whether the next bracket is preceded by a colon.
func closesClass(s string) bool {
	i := strings.IndexByte(s, ']')
	return i > 0 && s[i-1] == ':'
}

func (w wild) between(from, to, c byte) bool {
	if from <= c && c <= to {
		return true
	}
	if !w.fold || c < 'a' || c > 'z' {
		return false
	}
	up := c - 'a' + 'A'
	return from <= up && up <= to
}

// named matches a POSIX class in the C locale.
func (w wild) named(name string, c byte) (in, known bool) {
	isLower, isUpper := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z'
	isDigit := '0' <= c && c <= '9'
	graph := c > ' ' && c < 0x7f
	switch name {
	case "alnum":
		return isLower || isUpper || isDigit, true
	case "alpha":
		return isLower || isUpper, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < ' ' || c == 0x7f, true
	case "digit":
		return isDigit, true
	case "graph":
		return graph, true
	case "lower":
		return isLower, true
	case "print":
		return graph || c == ' ', true
	case "punct":
		return graph && !isLower && !isUpper && !isDigit, true
	case "space":
		return c == ' ' || (c >= '\t' && c <= '\r'), true
	case "upper":
		return isUpper || (w.fold && isLower), true
	case "xdigit":
		return isDigit || ('a' <= c && c <= 'f') || ('A' <= c && c <= 'F'), true
	}
	return false, false
}
