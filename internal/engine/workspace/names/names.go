// Package names judges paths by their names alone, without touching the disk: what is within a root, what is protected
// from writing, what is secret.
//
//	if why, ok := names.Protected("/home/me/app/.git/config"); ok { … ask, with the reason … }
//
// All functions require canonical absolute paths (workspace.Path.Abs). They resolve no links and know no modes or
// rules; package permission decides. Names are compared as on the most lenient file system, so that another letter
// case, a trailing dot or an invisible character makes no difference, and a name is protected even if it doesn't exist.
package names

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Rel returns a path relative to a directory, "." for the directory itself, and whether the path is the directory or
// below it. It is the only comparison of this kind: whole components count (/app-evil is not below /app), "." and ".."
// are removed by name first, an empty path is not below anything, and nothing is below an empty directory. Windows
// ignores letter case here and has names of devices in every directory, which are not below it.
func Rel(path, dir string) (rel string, ok bool) {
	if path == "" || dir == "" {
		return "", false
	}
	if filepath.Separator != '/' || path[0] != '/' || dir[0] != '/' {
		rel, err := filepath.Rel(dir, path)
		return rel, err == nil && filepath.IsLocal(rel)
	}
	path, dir = filepath.Clean(path), filepath.Clean(dir)
	if path == dir {
		return ".", true
	}
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	if !ok || rest[0] != '/' {
		return "", false
	}
	return rest[1:], true
}

// Below reports whether a path is a directory or below it; see Rel.
func Below(path, dir string) bool {
	_, ok := Rel(path, dir)
	return ok
}

// URI returns the URI of a file.
func URI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// FromURI returns the file that a URI names; "": none of this machine.
func FromURI(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || strings.ContainsRune(u.Path, 0) {
		return ""
	}
	path := filepath.FromSlash(u.Path)
	if drive := strings.TrimPrefix(u.Path, "/"); filepath.VolumeName(drive) != "" {
		path = filepath.FromSlash(drive)
	}
	if !filepath.IsAbs(path) {
		return ""
	}
	return filepath.Clean(path)
}

// Within reports whether path is one of the roots or below one, and which; see Rel. When roots are nested the innermost
// one is returned.
func Within(path string, roots []string) (root string, ok bool) {
	for _, r := range roots {
		if len(r) >= len(root) && Below(path, r) {
			root, ok = r, true
		}
	}
	return root, ok
}

// Elsewhere reports whether a path of Windows names another machine or a device, and isn't in a root: //server/share/x,
// //?/C:/x, //./COM1, with either slash. Looking at a share connects to the server and logs in there, and rules know
// the names of drives only.
func Elsewhere(path string, roots []string) bool {
	slashed := func(path string) string { return strings.ToLower(strings.ReplaceAll(path, `\`, "/")) }
	path = slashed(path)
	return (strings.HasPrefix(path, "//") || strings.HasPrefix(path, "/??/")) &&
		!slices.ContainsFunc(roots, func(root string) bool {
			return strings.HasPrefix(path+"/", slashed(root)+"/")
		})
}

// BelowAny reports whether a set has a path or a directory above it; see Rel. All must be clean.
func BelowAny(path string, set map[string]bool) bool {
	for ; !set[path]; path = filepath.Dir(path) {
		if path == filepath.Dir(path) {
			return false
		}
	}
	return true
}

// Short returns a path for people: relative to the first of dirs that it is in, with forward slashes, or as it is.
func Short(path string, dirs ...string) string {
	for _, dir := range dirs {
		if rel, ok := Rel(path, dir); ok {
			return filepath.ToSlash(rel)
		}
	}
	return path
}

// parts splits a path into folded components, without the volume.
func parts(path string) []string {
	path = filepath.ToSlash(path[len(filepath.VolumeName(path)):])
	out := make([]string, 0, strings.Count(path, "/")+1)
	for c := range strings.SplitSeq(path, "/") {
		if c = fold(c); c != "" {
			out = append(out, c)
		}
	}
	return out
}

// fold makes a component comparable: it ignores case (including Kelvin's K and the long s), characters that HFS+
// ignores, and what Windows ignores: trailing dots and spaces and a stream's name.
func fold(name string) string {
	if folded(name) {
		return name
	}
	var b strings.Builder
	b.Grow(len(name))
	for i, r := range name {
		if r == ':' && i > 0 {
			break
		}
		if r < unicode.MaxASCII {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			b.WriteByte(byte(r))
			continue
		}
		if ignorable(r) {
			continue
		}
		b.WriteRune(foldRune(r))
	}
	folded := strings.TrimRight(b.String(), ". ")
	if folded == "" {
		return b.String()
	}
	return folded
}

// folded reports whether a name needs no folding, like most.
func folded(name string) bool {
	for i := range len(name) {
		if c := name[i]; c >= unicode.MaxASCII || c >= 'A' && c <= 'Z' || c == ':' {
			return false
		}
	}
	return name == "" || name[len(name)-1] != '.' && name[len(name)-1] != ' '
}

func ignorable(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}

// foldRune returns the lower-case ASCII letter that a rune folds to, if any,
// else the smallest rune of its orbit.
func foldRune(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	if 'A' <= least && least <= 'Z' {
		return least + 'a' - 'A'
	}
	return least
}

// rule is one row of a table: a chain of components anywhere in the path; everything below it matches too. A component
// may contain one star.
type rule struct {
	chain string
	why   string
}

// table has rules prepared for lookup by the first component of their chain, if it has no star.
type table struct {
	rules  []prepared
	byName map[string][]int // indices in rules
	starry []int
}

type prepared struct {
	chain []starred
	why   string
}

// starred is a component with at most one star.
type starred struct {
	head, tail string
	star       bool
}

func newStarred(pattern string) (s starred) {
	s.head, s.tail, s.star = strings.Cut(pattern, "*")
	return s
}

func (s *starred) match(name string) bool {
	if !s.star {
		return s.head == name
	}
	return len(name) >= len(s.head)+len(s.tail) && strings.HasPrefix(name, s.head) && strings.HasSuffix(name, s.tail)
}

func prepare(rules []rule) *table {
	t := &table{byName: map[string][]int{}}
	for i, r := range rules {
		p := prepared{why: r.why}
		for c := range strings.SplitSeq(r.chain, "/") {
			p.chain = append(p.chain, newStarred(c))
		}
		t.rules = append(t.rules, p)
		if first := p.chain[0]; first.star {
			t.starry = append(t.starry, i)
		} else {
			t.byName[first.head] = append(t.byName[first.head], i)
		}
	}
	return t
}

// match finds the first rule whose chain is in the path's components.
func (t *table) match(comps []string) (why string, ok bool) {
	best := len(t.rules)
	for at := range comps {
		best = min(best, t.matchAt(comps, at))
	}
	if best == len(t.rules) {
		return "", false
	}
	return t.rules[best].why, true
}

// matchAt returns the place of the first rule whose chain begins with the component at.
func (t *table) matchAt(comps []string, at int) int {
	best := len(t.rules)
	for _, places := range [...][]int{t.byName[comps[at]], t.starry} {
		for _, i := range places {
			if i < best && len(t.rules[i].chain) <= len(comps)-at && matchAt(t.rules[i].chain, comps[at:]) {
				best = i
			}
		}
	}
	return best
}

func matchAt(chain []starred, comps []string) bool {
	for i := range chain {
		if !chain[i].match(comps[i]) {
			return false
		}
	}
	return true
}
