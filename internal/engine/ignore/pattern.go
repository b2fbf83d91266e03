package ignore

import (
	"bytes"
	"strings"
)

// pattern is one line of an ignore file.
type pattern struct {
	text    string // without "!", leading and trailing slash
	source  string // as written, for reports
	line    int
	literal int // bytes before the first wildcard
	negate  bool
	dirOnly bool
	base    bool // no slash inside: only compared with the last element of a path
}

// parse reads an ignore file. Patterns that can never match are kept, as in git.
func parse(data []byte) []pattern {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var ps []pattern
	for n := 1; len(data) > 0; n++ {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if i := bytes.IndexByte(line, 0); i >= 0 {
			line = line[:i]
		}
		source := trimBlanks(string(line))
		p := parseLine(source)
		p.source, p.line = source, n
		ps = append(ps, p)
	}
	return ps
}

func parseLine(s string) pattern {
	var p pattern
	s, p.negate = strings.CutPrefix(s, "!")
	s, p.dirOnly = strings.CutSuffix(s, "/")
	p.base = !strings.Contains(s, "/")
	p.text = strings.TrimPrefix(s, "/")
	p.literal = strings.IndexAny(p.text, `*?[\`)
	if p.literal < 0 {
		p.literal = len(p.text)
	}
	return p
}

// trimBlanks removes trailing spaces (not tabs) unless a backslash escapes them.
func trimBlanks(s string) string {
	cut := -1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			if cut < 0 {
				cut = i
			}
			continue
		case '\\':
			i++
			if i == len(s) {
				return s
			}
		}
		cut = -1
	}
	if cut < 0 {
		return s
	}
	return s[:cut]
}

// matchesPath compares a pattern with a slash with a path relative to the ignore file's directory.
func (p *pattern) matchesPath(rel string, fold bool) bool {
	if len(rel) < p.literal || !samePrefix(rel, p.text[:p.literal], fold) {
		return false
	}
	if p.literal == len(p.text) {
		return len(rel) == p.literal
	}
	// Git removes the literal prefix before it matches wildcards, so that the "**" of "foo**/bar" begins a segment.
	return wild{path: true, fold: fold}.matches(p.text[p.literal:], rel[p.literal:])
}

func samePrefix(s, prefix string, fold bool) bool {
	if !fold {
		return s[:len(prefix)] == prefix
	}
	for i := range len(prefix) {
		if lower(s[i]) != lower(prefix[i]) {
			return false
		}
	}
	return true
}
