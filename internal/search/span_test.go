package search

import (
	"fmt"
	"regexp"
	"testing"
)

// checkSpans compares the matches that may cross lines with those of package regexp.
func checkSpans(t *testing.T, q Query, data []byte) {
	t.Helper()
	p, err := Compile(q)
	if err != nil {
		return
	}
	flags := "(?m"
	if q.DotNewline {
		flags += "s"
	}
	if q.Case == Insensitive {
		flags += "i"
	}
	source, _ := translate(q.Pattern)
	want := [][]int{}
	for _, loc := range regexp.MustCompile(flags+")(?:"+source+")").FindAllIndex(data, -1) {
		if loc[0] == loc[1] {
			return // an empty match next to another one is a matter of taste
		}
		want = append(want, loc)
	}
	for way := range 3 {
		f := newFinder(p)
		if way > 0 {
			f.lits = nil
		}
		if way > 1 {
			f.leads = nil
		}
		got := [][]int{}
		f.start(data)
		for i := 0; i <= len(data); {
			start, end := f.span(data, i, true)
			if start < 0 {
				break
			}
			if n := len(got); start < end || n == 0 || got[n-1][1] != start {
				got = append(got, []int{start, end})
			}
			i = max(end, start+1)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%+v (way %d, %+v, %+v) on %q:\n got %v\nwant %v", q, way, p.lits, p.leads, data, got, want)
		}
	}
}

var spanPatterns = []string{`foo\nbar`, `a.b`, `(?s)a.*b`, `\{\n\s+return`, `\Afoo`, `foo\z`, `^foo\n^bar`, `\bfoo\b\s+\bbar\b`, `[^x]+x`, `é\n`, `\n\n`, `^$\n`, `foo$`, `o\s*b`, `(?i)FOO\nb`, `\Bo\n`, `(foo|bar)\n(bar|foo)`, `ab*?\n`, `\x{212a}`, `k\ns`}

func TestSpansEqualRegexp(t *testing.T) {
	texts := append([]string{"foo\nbar\nfoo\nbar", "xfoo\nbarfoo\n bar", "func {\n\treturn\n}\n{\n  return", "a\nb\na b\nacb", "foo\n\n\nbar\n", "K\nſ k\ns", "é\né\n\xff\n"}, finderTexts...)
	patterns := append(spanPatterns, finderPatterns...)
	if slack > 5 {
		patterns, texts = spanPatterns, texts[:7] // slow under the race detector
	}
	for _, pattern := range patterns {
		for _, text := range texts {
			for mode := range 4 {
				checkSpans(t, Query{Pattern: pattern, Case: Case(1 + mode&1), DotNewline: mode > 1, Multiline: true}, []byte(text))
			}
		}
	}
}

func FuzzSpans(f *testing.F) {
	for i, p := range append(spanPatterns, finderPatterns...) {
		f.Add(p, []byte(finderTexts[i%len(finderTexts)]), uint8(i))
	}
	f.Fuzz(func(t *testing.T, pattern string, text []byte, mode uint8) {
		if len(pattern) > 60 || len(text) > 2048 {
			return
		}
		checkSpans(t, Query{Pattern: pattern, Case: Case(1 + mode%2), DotNewline: mode&2 != 0, Multiline: true}, text)
	})
}
