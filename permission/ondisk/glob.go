package ondisk

import (
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// maxFound is the maximum number of paths that a glob may match.
const maxFound = 4096

// Glob returns the paths that an absolute shell pattern matches now, rather too many than too few: where shells or locales
// differ (ranges, classes, what one character is, whether .* matches . and ..) all interpretations count. ok is false if
// there are too many, or if the pattern is not absolute.
func (d *disk) Glob(pattern string) (paths []string, ok bool) {
	volume := filepath.VolumeName(pattern)
	rest := pattern[len(volume):]
	if rest == "" || rest[0] != '/' || d.remote(pattern) {
		return nil, false
	}
	b := d.budget()
	fixed := len(rest)
	if i := strings.IndexAny(rest, `*?[\`); i >= 0 {
		fixed = i
	}
	fixed = strings.LastIndexByte(rest[:fixed], '/') // the part before it is a literal directory
	found := []string{volume + rest[:fixed]}
	parts := strings.Split(rest[fixed+1:], "/")
	for i, part := range parts {
		var next []string
		for _, at := range found {
			if next, ok = d.expand(b, next, at, part, i < len(parts)-1); !ok {
				return nil, false
			}
		}
		found = next
	}
	return found, true
}

// expand adds to next the paths that one part of a pattern matches in the directory at. more reports whether further parts
// follow. Paths are not cleaned: the system follows links before "..".
func (d *disk) expand(b *budget, next []string, at, part string, more bool) ([]string, bool) {
	if !strings.ContainsAny(part, `*?[`) {
		path := at + "/" + unescape(part)
		if !b.spend(1) {
			return nil, false
		}
		if d.memo.isAbsent(path) {
			return next, true
		}
		return append(next, path), true
	}
	add := func(name string) bool {
		if matchPart(part, name) {
			next = append(next, at+"/"+name)
		}
		return len(next) <= maxFound
	}
	add(".")
	add("..")
	enough := false
	err := d.memo.list(b, at, func(e os.DirEntry) bool {
		if more && !e.IsDir() && e.Type().IsRegular() {
			return true
		}
		enough = !add(e.Name())
		return !enough
	})
	return next, !enough && (err == nil || absent(err) || os.IsPermission(err))
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// matchPart reports whether a pattern may match a name. A leading dot is only matched by a dot.
func matchPart(pattern, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") && !strings.HasPrefix(pattern, `\.`) {
		return false
	}
	pattern = withoutClasses(pattern)
	return match(pattern, name, oneRune) || match(pattern, name, oneByte)
}

// withoutClasses replaces a set with a class ([:alpha:]) and everything after it by a star: where bash ends such a set is
// hard to determine, as [[=a=]][a-c] is one set to it.
func withoutClasses(pattern string) string {
	for i := 1; i+1 < len(pattern); i++ {
		if pattern[i] == '[' && strings.IndexByte(":.=", pattern[i+1]) >= 0 {
			first := strings.IndexByte(pattern, '[')
			return strings.TrimRight(pattern[:first], `\`) + "*"
		}
	}
	return pattern
}

// oneByte returns 1: in the C locale, a character is a byte.
func oneByte(string) int { return 1 }

func oneRune(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// match matches in one pass; after a mismatch it only goes back to the last star, which is enough.
func match(pattern, name string, width func(string) int) bool {
	p, n := 0, 0
	star, starAt := -1, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			star, starAt = p, n
			continue
		}
		if used, eaten, ok := one(pattern[p:], name[n:], width); ok {
			p, n = p+used, n+eaten
			continue
		}
		if star < 0 {
			return false
		}
		starAt += width(name[starAt:])
		p, n = star, starAt
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// one matches one character of a name.
func one(pattern, name string, width func(string) int) (used, eaten int, ok bool) {
	if pattern == "" {
		return 0, 0, false
	}
	w := width(name)
	switch pattern[0] {
	case '?':
		return 1, w, true
	case '[':
		if set, n := bracket(pattern); n > 0 {
			return n, w, mayHold(set, name[:w])
		}
	case '\\':
		if len(pattern) > 1 {
			return 2, 1, pattern[1] == name[0]
		}
	}
	return 1, 1, pattern[0] == name[0]
}

// bracket finds the end of a set. n is its length with both brackets, 0 if it has no end and [ is literal.
func bracket(pattern string) (set string, n int) {
	i := 1
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		i++
	}
	for first := i; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == ']' && i > first:
			return pattern[1:i], i + 1
		}
	}
	return "", 0
}

// mayHold reports whether a set may match a character. Only plain lists are checked; ranges depend on the locale and may
// match anything.
func mayHold(set, char string) bool {
	if strings.ContainsAny(set, `-[\`) {
		return true
	}
	if set[0] == '!' || set[0] == '^' {
		return !strings.Contains(set[1:], char)
	}
	return strings.Contains(set, char)
}
