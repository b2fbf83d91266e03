package search

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
)

// naive is the slow reference: every line, without its end, asked with package regexp.
type naive struct {
	re *regexp.Regexp
	cr bool // a return at the end of a line is part of it
}

func newNaive(q Query) (*naive, error) {
	source := q.Pattern
	if q.Fixed {
		source = regexp.QuoteMeta(source)
	}
	source, _ = translate(source)
	flags := "(?m"
	if q.Case == Insensitive || q.Case == Smart && !hasUpper(q.Pattern, q.Fixed) {
		flags += "i"
	}
	re, err := regexp.Compile(flags + ")" + source)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return &naive{re, mentionsCR(parsed)}, nil
}

func (n *naive) lines(data []byte) []string {
	var out []string
	for i, line := range bytes.SplitAfter(data, newline) {
		if len(line) == 0 {
			continue
		}
		line = bytes.TrimSuffix(line, newline)
		text := line
		if !n.cr {
			text = bytes.TrimSuffix(line, []byte("\r"))
		}
		if n.re.Match(text) {
			out = append(out, fmt.Sprintf("%d:%s", i+1, line))
		}
	}
	return out
}

// finderLines collects what a finder finds.
func finderLines(f *finder, data []byte) []string {
	var out []string
	f.start(data)
	if f.all && len(data) > 0 && f.dfa.line != matched {
		f.lookAhead(data, 0) // small texts too
	}
	for i := 0; i < len(data); {
		from, to := f.line(data, i)
		if from < 0 {
			break
		}
		out = append(out, fmt.Sprintf("%d:%s", bytes.Count(data[:from], []byte("\n"))+1, data[from:to]))
		i = to + 1
	}
	return out
}

func checkLines(t *testing.T, q Query, data []byte) {
	t.Helper()
	p, err := Compile(q)
	if err != nil {
		return
	}
	slow, err := newNaive(q)
	if err != nil {
		t.Fatalf("%+v compiles here but not there: %v", q, err)
	}
	want := slow.lines(data)
	for way := range 3 {
		f := newFinder(p)
		if way > 0 {
			f.lits = nil
		}
		f.all = way == 1
		got := finderLines(f, data)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%+v (way %d, %+v) on %.2000q: %s", q, way, p.lits, data, firstDifference(strings.Join(got, "\n"), strings.Join(want, "\n")))
		}
	}
}

var finderPatterns = []string{
	`foo`, `Foo`, `(?i)Foo`, `foo|bar`, `(foo|ba[rz])+x`, `^foo`, `foo$`, `^foo$`, `^$`, `^`, `$`, `\bfoo\b`, `\Bo`, `foo\b`, `\<foo\>`,
	`[a-z]+\s+[0-9]{4,}`, `[a-z]{3}_[A-Z]+\d+`, `.`, `.*`, `.+x`, `a?b?`, `x*`, `é`, `(?i)É`, `[é-ü]x`, `[^a]b`, `\p{Greek}+`, `日本`, `k`, `(?i)k`, `sk`,
	`\s`, `\s+$`, `\S+\s\S+`, `[^\n]*;`, `\d+|\w+\(`, `(a|b)*c`, `(a*)*`, `(?:x{2,3}y){2}`, `a.c`, `\x00`, `[[:upper:]]{2}`, `\r`, `\r$`, `o\s$`, `[\r]`,
	`(?s)a.b`, `a\nb`, `\Aab`, `ab\z`, `\W`, `\w{3}`, `\D\d`, `\Qa.b\E`, `(?i:foo)Bar`, `(TODO|FIXME|XXX)\b`, `_`, ` `, `e`, `f{2}`, `(x|)y`, `[ab][cd][ef]`,
	`\u00e9`, `\h+x`, `a\/b`, `\x{fffd}`, `�`, `(^|x)foo(x|$)`, `\b\B`, `\b\d`, `(?i)straße`, `(?i)task`, `interface\{\}`, `"[^"]*"`, `'.*?'`, `func \(.*\) \w+\(`,
}

var finderTexts = []string{
	"", "\n", "foo", "foo\n", "xfoo\nfoo\r\nbar\r\n\r\nFOO\nfoobar baz", "a\nb\n\nc", "abc_XY12 the year 2026\nabc 1234\r\n",
	"é É ü\nΑθήνα\n日本語\n\xff\xfe\xc3\nx\xc3\xa9y\xc3\n\xe2\x84\xaa \u017fk K s\ntask TASK taſK ta\u017f\u212a\n", "aab\nccc\nxxyxxxy\nacbdef\nTODO: x FIXMEX XXX\n",
	"line one\nline two\n\tfunc (x *T) foo() {}\ninterface{}\n\"q\" 'r'\n", "\x00bin\x00\nfoo\x00", strings.Repeat("foo bar\n", 50) + "end_", strings.Repeat("_ a\n", 200) + "abc_DE9\n",
	"STRASSE straße STRAẞE\n", "foo\r", "foo\r\r\n", "\rfoo\n\r\n", "a.b a/b ab\n",
}

func TestLinesEqualRegexp(t *testing.T) {
	serial.Test(t)
	all := strings.Join(finderTexts, "\n")
	for _, pattern := range finderPatterns {
		for _, c := range []Case{Smart, Sensitive, Insensitive} {
			for _, text := range append([]string{all}, finderTexts...) {
				checkLines(t, Query{Pattern: pattern, Case: c}, []byte(text))
				if !soak.On() {
					break // the first has them all
				}
			}
			checkLines(t, Query{Pattern: pattern, Case: c, Fixed: true}, []byte(all))
		}
	}
}

func FuzzLines(f *testing.F) {
	for i, p := range finderPatterns {
		f.Add(p, []byte(finderTexts[i%len(finderTexts)]), uint8(i))
	}
	f.Fuzz(func(t *testing.T, pattern string, text []byte, mode uint8) {
		if len(pattern) > 60 || len(text) > 4096 {
			return
		}
		checkLines(t, Query{Pattern: pattern, Case: Case(mode % 3), Fixed: mode&64 != 0}, text)
	})
}
