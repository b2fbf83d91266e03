package names

import (
	"strings"
	"sync"
)

// MaySecret reports whether a shell's pattern could name a secret, and which: an example. The pattern is taken as a
// shell reads it: * ? and [ ] stay within a component and do not match a leading dot, a backslash quotes.
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
	for i := range t.system { // at the root of the disk alone
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
			if n := &t.folders[i]; at+len(n.comps) <= len(globs) && overlaps(globs[at:], n.comps) {
				return n.example, true
			}
		}
	}
	return "", false
}

// secretName is a name of a table, ready to be held against patterns.
type secretName struct {
	comps   [][]rune
	example string
}

// secretTable are the names that patterns are held against.
type secretTable struct {
	files, folders, system []secretName
	byEnd, byStart         shortlist // of files, by their last character, and of directories, by their first
}

// shortlist is which names of a table a pattern can mean, as far as one character of it tells.
type shortlist struct {
	all, starred []int // starred: those that have a star at that place, and so any character
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

// of returns the names that a pattern with this character can mean.
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

// secretNames is made ready when the first pattern is judged.
var secretNames = sync.OnceValue(func() *secretTable {
	t := &secretTable{}
	t.files = []secretName{{[][]rune{[]rune(".env")}, ".env"}, {[][]rune{[]rune(".env.*")}, ".env"}}
	for _, r := range secretFiles {
		for _, name := range usual(r.chain) {
			t.files = append(t.files, newSecretName(name))
		}
	}
	for _, r := range secretFolders {
		t.folders = append(t.folders, newSecretName(r.chain))
	}
	for _, r := range systemSecrets {
		t.system = append(t.system, newSecretName(r.chain))
	}
	t.byEnd, t.byStart = newShortlist(t.files, lastOf), newShortlist(t.folders, firstOf)
	return t
})

func newSecretName(chain string) secretName {
	n := secretName{example: strings.ReplaceAll(chain, "*", "x")}
	for c := range strings.SplitSeq(chain, "/") {
		n.comps = append(n.comps, []rune(c))
	}
	return n
}

// MaySecretBelow is MaySecret for a pathspec of git, whose stars stand for slashes and leading dots too. A pattern of
// stars alone is a directory, and *.json is no reason to think of credentials.json: it is what is tracked.
func MaySecretBelow(pattern string) (example string, ok bool) {
	comps := strings.FieldsFunc(pattern, func(r rune) bool { return r == '/' })
	if len(comps) == 0 || strings.Trim(comps[len(comps)-1], "*") == "" {
		return "", false
	}
	last := globTokens(comps[len(comps)-1])
	for _, r := range append([]rule{{".env", whyEnv}, {".env.local", whyEnv}}, secretFiles...) {
		named := r.chain[0] != '.' && r.chain[0] != '*' || strings.HasSuffix(r.chain, ".json")
		ending := r.chain[0] == '*'
		if !(named && last[0] == '*' || ending && last[len(last)-1] == '*') && common(last, []rune(r.chain)) {
			return strings.ReplaceAll(r.chain, "*", "x"), true
		}
	}
	return secretNames().among(newGlobs(comps))
}

// usual returns the names that a rule means in practice: id_rsa* is no reason to take every *.go for a key.
func usual(chain string) []string {
	head, open := strings.CutSuffix(chain, "*")
	if !open {
		return []string{chain}
	}
	return []string{head, head + "1", head + ".bak", head + ".old", head + ".orig", head + ".pem", head + "_old"}
}

// glob is one component of a pattern, ready to be held against names.
type glob struct {
	tokens []rune
	wild   bool // it begins with what may stand for anything but a dot
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

// overlap reports whether a shell's pattern and a name with stars have a name in common.
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
				out = append(out, '\x00') // itself, which no name we look for holds
				continue
			}
			out = append(out, []rune(fold(string(rs[i]) + "x"))[0])
		case rs[i] == '[':
			end := setEnd(rs, i)
			if end == len(rs) {
				out = append(out, '*') // not a bracket after all, or hard to say: be on the safe side
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

// setEnd returns where the set that begins at i ends; the end of the pattern where it does not, or holds a class such as
// [:alpha:], for which shells do not agree on where it ends.
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

// MayBe reports whether a pattern of one component could name a file of this name.
func MayBe(pattern, name string) bool { return common(globTokens(pattern), []rune(name)) }

// common reports whether two patterns with '*' (and in the first '?') match a name in common.
func common(a, b []rune) bool {
	// What is before the first star of both, and behind the last, must agree: that settles nearly all.
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
	// row[j]: a[:i] and b[:j] have a name in common.
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
