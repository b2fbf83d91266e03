package search

import (
	"math/rand"
	"regexp"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
)

// slowGlob returns the obvious way: a pattern without braces or classes as a regular expression.
func slowGlob(pattern string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?i)^`)
	segments := strings.Split(pattern, "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch {
		case s == "**" && last:
			b.WriteString(`.*`)
		case s == "**":
			b.WriteString(`(?:[^/]*/)*`)
		default:
			for _, c := range strings.ReplaceAll(s, "**", "*") {
				switch c {
				case '*':
					b.WriteString(`[^/]*`)
				case '?':
					b.WriteString(`[^/]`)
				default:
					b.WriteString(regexp.QuoteMeta(string(c)))
				}
			}
			if !last {
				b.WriteString("/")
			}
		}
	}
	return regexp.MustCompile(b.String() + "$")
}

// TestGlobAgainstSlow also holds that a directory in which something matches is never passed over.
func TestGlobAgainstSlow(t *testing.T) {
	serial.Test(t)
	r := rand.New(rand.NewSource(1))
	atoms := []string{"a", "B", "ab", "*", "**", "?", "a*", "*b", "*.go", "a.go", "x?y", "**", "a**b"}
	names := []string{"a", "b", "ab", "aab", "a.go", "B.GO", "xzy", "c"}
	path := func(from []string) string {
		p := []string{}
		for range 1 + r.Intn(4) {
			p = append(p, from[r.Intn(len(from))])
		}
		return strings.Join(p, "/")
	}
	slow := map[string]*regexp.Regexp{} // 30,000 patterns; compiling one takes longer than a hundred matches
	for range soak.Count(20000, 2_000_000) {
		pattern, p := path(atoms), path(names)
		g, err := newGlob(pattern, false, true)
		if err != nil {
			t.Fatal(err)
		}
		dir, name := "", p
		if i := strings.LastIndexByte(p, '/'); i >= 0 {
			dir, name = p[:i], p[i+1:]
		}
		got := g.match(dir, name)
		if slow[pattern] == nil {
			slow[pattern] = slowGlob(pattern)
		}
		if want := slow[pattern].MatchString(p); got != want {
			t.Fatalf("%q on %q: got %v", pattern, p, got)
		}
		for d := dir; got && d != ""; {
			if !g.reaches(d) {
				t.Fatalf("%q matches %q but does not reach %q", pattern, p, d)
			}
			i := max(0, strings.LastIndexByte(d, '/'))
			d = d[:i]
		}
	}
}
