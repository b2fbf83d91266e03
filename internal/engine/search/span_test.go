package search

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
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
	serial.Test(t)
	texts := append([]string{"foo\nbar\nfoo\nbar", "xfoo\nbarfoo\n bar", "func {\n\treturn\n}\n{\n  return", "a\nb\na b\nacb", "foo\n\n\nbar\n", "K\nſ k\ns", "é\né\n\xff\n"}, finderTexts...)
	patterns := append(spanPatterns, finderPatterns...)
	if !soak.On() {
		patterns, texts = spanPatterns, texts[:7]
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

// numbers lists the lines shown, matches with a colon and context with a dash.
func numbers(res *GrepResult) string {
	var b strings.Builder
	for _, f := range res.Files {
		for _, l := range f.Lines {
			fmt.Fprintf(&b, "%d%s ", l.Number, map[bool]string{true: ":", false: "-"}[l.Match])
		}
	}
	return fmt.Sprint(res.Matches, " ", b.String())
}

// TestSmallBuffers compares a search through a buffer that holds few lines with one that holds the whole file.
func TestSmallBuffers(t *testing.T) {
	serial.Test(t)
	r := rand.New(rand.NewSource(1))
	words := []string{"foo", "bar", "x", "é", " ", "foo bar", "\t", "9", "kk", "\r"}
	for round := range soak.Count(60, 5000) {
		long := round%3 == 0
		var b strings.Builder
		for range 20 + r.Intn(200) {
			n := r.Intn(4)
			if long && r.Intn(30) == 0 {
				n = 100 + r.Intn(600) // longer than the buffer
			}
			for range n {
				b.WriteString(words[r.Intn(len(words))])
			}
			b.WriteString("\n")
		}
		text := b.String()
		if r.Intn(2) == 0 {
			text = strings.TrimSuffix(text, "\n")
		}
		top := tree(t, map[string]string{"f": text})
		for _, pattern := range []string{`foo`, `bar$`, `^x`, `[0-9]\s+f`, `é`, `^$`, `k{2}\b`, `o\sb`, `nothing`, `foo\n.`, `\n\nx`, `^(x|é)*\nfoo`, `\bk+\n\b`, `[^f]\n\n+[^b]`} {
			q := Query{Pattern: pattern, Multiline: strings.Contains(pattern, `\n`)}
			if q.Multiline && long {
				continue // a match may be longer than the window
			}
			req := GrepRequest{Scope: Scope{Paths: []string{top}, Workers: 1}, Pattern: mustCompile(t, q), MaxLine: 20}
			if !long {
				req.Before, req.After = r.Intn(3), r.Intn(3)
			}
			if r.Intn(3) == 0 {
				req.Limit = 1 + r.Intn(9)
			}
			want, err := Grep(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			req.buffer = 256
			got, err := Grep(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if numbers(got) != numbers(want) {
				t.Fatalf("round %d, %q, context %d %d, limit %d, on %q:\n got %s\nwant %s", round, pattern, req.Before, req.After, req.Limit, text, numbers(got), numbers(want))
			}
		}
	}
}

// TestPairFindsNoOther holds that only true pairs stop the scan: a wrong one costs time and would go unnoticed otherwise.
func TestPairFindsNoOther(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	data := make([]byte, 300)
	for range 2000 {
		for i := range data {
			data[i] = "aAbBrRe_\x80\xff"[r.Intn(10)]
		}
		a, b, gap, fold := "abr_e"[r.Intn(5)], "abr_e"[r.Intn(5)], r.Intn(9), r.Intn(2) == 0
		p := newPair(a, b, gap, fold)
		is := func(x, y byte) bool { return x == y || fold && lower[x] == y }
		want := -1
		from := r.Intn(20)
		for i := from; i+gap < len(data); i++ {
			if is(data[i], a) && is(data[i+gap], b) {
				want = i
				break
			}
		}
		if got := p.find(data, from); got != want {
			t.Fatalf("%c %c gap %d fold %v in %q from %d: got %d, want %d", a, b, gap, fold, data, from, got, want)
		}
	}
}

// Files that a caller withholds are counted whether they match or not, and never opened.
func TestWithhold(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.txt", ".env", "b/.env", "keys/x", "keys/sub/y"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("token\ntoken\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	withhold := func(path string) (bool, func(string) bool) {
		return path == filepath.Join(dir, "keys"), func(name string) bool { return name == ".env" }
	}
	for _, portable := range []bool{false, true} {
		scope := Scope{Paths: []string{dir}, Withhold: withhold, portable: portable}
		for pattern, matches := range map[string]int{"token": 1, "nothing": 0} {
			p, err := Compile(Query{Pattern: pattern})
			if err != nil {
				t.Fatal(err)
			}
			for _, mode := range []Mode{Content, Paths, Counts} {
				res, err := Grep(t.Context(), GrepRequest{Pattern: p, Mode: mode, Scope: scope})
				if err != nil || res.Withheld != 2 || res.Closed != 1 || res.MatchedFiles != matches || len(res.Files) != matches {
					t.Errorf("%s, mode %d: %+v, %v", pattern, mode, res, err)
				}
			}
		}
		res, err := Files(t.Context(), FilesRequest{Scope: scope, Limit: 10})
		var names []string
		for _, f := range res.Files {
			names = append(names, strings.TrimPrefix(f.Path, dir))
		}
		if got := filepath.ToSlash(strings.Join(names, " ")); err != nil || got != "/a.txt /.env /b/.env" || res.Closed != 1 {
			t.Errorf("%s, %+v, %v", got, res, err)
		}
	}
}
