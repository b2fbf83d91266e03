package names

import (
	"strings"
	"sync"
)

// MaySecret reports whether a shell pattern could match a secret, with an example. The pattern is read like a shell
// does: * ? and [ ] don't match a slash or a leading dot, and a backslash quotes.
func MaySecret(pattern string) (example string, ok bool) {
	comps := strings.FieldsFunc(pattern, func(r rune) bool { return r == '/' })
	if len(comps) == 0 {
		return "", false
	}
	if !strings.ContainsAny(pattern, `*?[`) {
		_, ok := Secret(pattern)
		return comps[len(comps)-1], ok
	}
	t, globs := secretNames(), newGlobs(comps)
	last := &globs[len(globs)-1]
	for _, i := range t.byEnd.of(lastOf(last.tokens)) {
		if overlap(last, t.files[i].comps[0]) {
			return t.files[i].example, true
		}
	}
	if example, ok := t.among(globs); ok {
		return example, true
	}
	for i := range t.system { // only at the root directory
		if n := &t.system[i]; len(n.comps) <= len(globs) && overlaps(globs, n.comps) {
			return n.example, true
		}
	}
	return "", false
}

// among finds a directory anywhere in a path of patterns.
func (t *secretTable) among(globs []glob) (example string, ok bool) {
	for at := range globs {
		for _, i := range t.byStart.of(firstOf(globs[at].tokens)) {
			if n := &t.directories[i]; at+len(n.comps) <= len(globs) && overlaps(globs[at:], n.comps) {
				return n.example, true
			}
		}
	}
	return "", false
}

// secretName is a name of a table, prepared for matching.
type secretName struct {
	comps   [][]rune
	example string
}

// secretTable has the names that patterns are compared with.
type secretTable struct {
	files, directories, system []secretName
	byEnd, byStart             shortlist // file names by their last character, and directory names by their first
}

// shortlist selects the names that a pattern can match, by one of its characters.
type shortlist struct {
	all, starred []int // starred: those with a star at that position, which match any character
	by           map[rune][]int
}

func newShortlist(table []secretName, at func(name []rune) rune) shortlist {
	l := shortlist{by: map[rune][]int{}}
	for i := range table {
		l.by[at(table[i].comps[0])] = nil
	}
	for i := range table {
		l.all = append(l.all, i)
		c := at(table[i].comps[0])
		if c == '*' {
			l.starred = append(l.starred, i)
		}
		for k := range l.by {
			if c == k || c == '*' {
				l.by[k] = append(l.by[k], i)
			}
		}
	}
	return l
}

// of returns the names that a pattern with this character can match.
func (l *shortlist) of(c rune) []int {
	if c == '*' || c == '?' {
		return l.all
	}
	if names, known := l.by[c]; known {
		return names
	}
	return l.starred
}

func firstOf(name []rune) rune { return name[0] }
func lastOf(name []rune) rune  { return name[len(name)-1] }

// secretNames is prepared when the first pattern is judged.
var secretNames = sync.OnceValue(func() *secretTable {
	t := &secretTable{}
	t.files = []secretName{{[][]rune{[]rune(".env")}, ".env"}, {[][]rune{[]rune(".env.*")}, ".env"}}
	for _, r := range secretFiles {
		for _, name := range usual(r.chain) {
			t.files = append(t.files, newSecretName(name))
		}
	}
	for _, r := range secretDirectories {
		t.directories = append(t.directories, newSecretName(r.chain))
	}
	for _, r := range systemSecrets {
		t.system = append(t.system, newSecretName(r.chain))
	}
	t.byEnd, t.byStart = newShortlist(t.files, lastOf), newShortlist(t.directories, firstOf)
	return t
})

func newSecretName(chain string) secretName {
	n := secretName{example: strings.ReplaceAll(chain, "*", "x")}
	for c := range strings.SplitSeq(chain, "/") {
		n.comps = append(n.comps, []rune(c))
	}
	return n
}

// usual returns the names that a rule means in practice: id_rsa* doesn't mean that *.go may match a key.
func usual(chain string) []string {
	head, open := strings.CutSuffix(chain, "*")
	if !open {
		return []string{chain}
	}
	return []string{head, head + "1", head + ".bak", head + ".old", head + ".orig", head + ".pem", head + "_old"}
}

// glob is one component of a pattern, prepared for matching.
type glob struct {
	tokens []rune
	wild   bool // it begins with a wildcard, which doesn't match a dot
}

func newGlobs(comps []string) []glob {
	out := make([]glob, len(comps))
	for i, c := range comps {
		out[i] = glob{globTokens(c), strings.IndexByte("*?[", c[0]) >= 0}
	}
	return out
}

func overlaps(globs []glob, chain [][]rune) bool {
	for i, name := range chain {
		if !overlap(&globs[i], name) {
			return false
		}
	}
	return true
}

// overlap reports whether a shell pattern and a name with stars match a common name.
func overlap(g *glob, name []rune) bool {
	return !(g.wild && name[0] == '.') && common(g.tokens, name)
}

// globTokens returns a pattern as runes, folded, with '*' and, for one unknown character, '?'.
func globTokens(glob string) []rune {
	rs := []rune(glob)
	out := make([]rune, 0, len(rs))
	for i := 0; i < len(rs); i++ {
		switch {
		case rs[i] == '\\' && i+1 < len(rs):
			if i++; rs[i] == '*' || rs[i] == '?' {
				out = append(out, '\x00') // a character that no name in the tables has
				continue
			}
			out = append(out, []rune(fold(string(rs[i]) + "x"))[0])
		case rs[i] == '[':
			end := setEnd(rs, i)
			if end == len(rs) {
				out = append(out, '*') // not a valid set, or undecidable: match anything
				if strings.ContainsAny(string(rs[i+1:]), "[") {
					return out
				}
				continue
			}
			out = append(out, '?')
			i = end
		case rs[i] == '*' || rs[i] == '?':
			out = append(out, rs[i])
		case rs[i] < 'A' || rs[i] >= 'a' && rs[i] <= 'z':
			out = append(out, rs[i])
		default:
			if f := []rune(fold(string(rs[i]) + "x")); len(f) > 0 {
				out = append(out, f[0])
			}
		}
	}
	return out
}

// setEnd returns where the set that begins at i ends; the end of the pattern if it doesn't, or if it has a class such
// as [:alpha:], for which shells disagree on the end.
func setEnd(rs []rune, i int) int {
	i++
	if i < len(rs) && (rs[i] == '!' || rs[i] == '^') {
		i++
	}
	for first := i; i < len(rs); i++ {
		switch {
		case rs[i] == '\\':
			i++
		case rs[i] == '[' && i+1 < len(rs) && strings.ContainsRune(":.=", rs[i+1]):
			return len(rs)
		case rs[i] == ']' && i > first:
			return i
		}
	}
	return len(rs)
}

// common reports whether two patterns with '*' (and in the first '?') match a common name.
func common(a, b []rune) bool {
	// The parts before the first star of both, and after the last, must match: that decides nearly all cases.
	for i := 0; i < len(a) && i < len(b) && a[i] != '*' && b[i] != '*'; i++ {
		if a[i] != b[i] && a[i] != '?' {
			return false
		}
	}
	for i := 1; i <= len(a) && i <= len(b) && a[len(a)-i] != '*' && b[len(b)-i] != '*'; i++ {
		if x := a[len(a)-i]; x != b[len(b)-i] && x != '?' {
			return false
		}
	}
	// row[j]: a[:i] and b[:j] match a common name.
	row, next := make([]bool, len(b)+1), make([]bool, len(b)+1)
	row[0] = true
	for i := 0; i <= len(a); i++ {
		clear(next)
		for j := 0; j <= len(b); j++ {
			if !row[j] {
				continue
			}
			starA, starB := i < len(a) && a[i] == '*', j < len(b) && b[j] == '*'
			if starB || starA && j < len(b) {
				row[j+1] = true
			}
			if starA || starB && i < len(a) {
				next[j] = true
			}
			if !starA && !starB && i < len(a) && j < len(b) && (a[i] == '?' || a[i] == b[j]) {
				next[j+1] = true
			}
		}
		if i < len(a) {
			row, next = next, row
		}
	}
	return row[len(b)]
}
