package edit

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// The slow references try every place there is.

type letter struct {
	at, end int
	r       rune
	kept    bool // not a blank at the end of a line
}

func lettersOf(s string, f forgiven) []letter {
	var out []letter
	for at, r := range s {
		_, size := utf8.DecodeRuneInString(s[at:])
		if f&typography != 0 {
			r = plain(r)
		}
		out = append(out, letter{at, at + size, r, true})
	}
	blank := true // all that follows on the line is blank
	for i := len(out) - 1; i >= 0; i-- {
		switch r := out[i].r; {
		case r == '\n':
			blank = true
		case blank && (r == ' ' || r == '\t'):
			out[i].kept = false
		default:
			blank = false
		}
	}
	return out
}

func keptText(letters []letter) string {
	var b strings.Builder
	for _, l := range letters {
		if l.kept {
			b.WriteRune(l.r)
		}
	}
	return b.String()
}

func blankOnly(letters []letter) bool {
	for _, l := range letters {
		if l.kept {
			return false
		}
	}
	return true
}

// slowAlike returns the reference of looksAlike.
func slowAlike(text, old string, f forgiven) []Place {
	trimmed := strings.TrimRightFunc(old, func(r rune) bool { return isBlank(r, f) })
	toLineEnd := trimmed != old
	old = trimmed
	want := keptText(lettersOf(old, f))
	if strings.TrimSpace(want) == "" {
		return nil
	}
	first, _, several := strings.Cut(old, "\n")
	fromLineStart := several && first != "" && trimBlanks(first, f) == ""
	letters := lettersOf(text, f)
	var out []Place
	for i := range letters {
		for j := i + 1; j <= len(letters); j++ {
			if !letters[i].kept || !letters[j-1].kept || keptText(letters[i:j]) != want {
				continue
			}
			lineStart, lineEnd := i, j
			for lineStart > 0 && letters[lineStart-1].r != '\n' {
				lineStart--
			}
			for lineEnd < len(letters) && letters[lineEnd].r != '\n' {
				lineEnd++
			}
			if toLineEnd && !blankOnly(letters[j:lineEnd]) || fromLineStart && !blankOnly(letters[lineStart:i]) {
				continue
			}
			out = append(out, Place{Start: letters[i].at, End: letters[j-1].end})
		}
	}
	if strings.HasSuffix(want, "\n") && !toLineEnd && !strings.HasSuffix(keptText(letters), "\n") {
		for _, p := range slowAlike(text, strings.TrimSuffix(old, "\n"), f) {
			if strings.Count(text[p.Start:p.End], "\n") == strings.Count(old, "\n")-1 && keptText(lettersOf(text[p.End:], f)) == "" {
				out = append(out, p)
			}
		}
	}
	return out
}

// slowReindented returns the reference of reindented: every window of lines is tried.
func slowReindented(text string, e Edit) []Place {
	const f = trailing | typography
	e, toLineEnd := settleEnd(e, f)
	bare, newline := strings.CutSuffix(e.Old, "\n")
	want := strings.Split(bare, "\n")
	lines := strings.Split(text, "\n")
	var out []Place
	start := 0
	for i := 0; i+len(want) <= len(lines); i++ {
		window := lines[i : i+len(want)]
		last := i+len(want) == len(lines)
		ok := !newline || !last || !strings.HasSuffix(text, "\n")
		if newline && toLineEnd && !last {
			ok = trimBlanks(lines[i+len(want)], f) == ""
		}
		if ok && slowShift(window, want, e) {
			end := start + len(strings.Join(window, "\n"))
			if newline && !last {
				end++
			} else {
				end = start + len(trimBlanks(text[start:end], f))
			}
			out = append(out, Place{Start: start, End: end})
		}
		start += len(lines[i]) + 1
	}
	return out
}

// slowShift tries a rule for each pair of lines and asks whether it works for all.
func slowShift(window, want []string, e Edit) bool {
	const f = trailing | typography
	var pairs []pair
	for i := range want {
		a, b := trimIndent(trimBlanks(want[i], f), f), trimIndent(trimBlanks(window[i], f), f)
		if string(mapPlain(a)) != string(mapPlain(b)) {
			return false
		}
		if a != "" {
			pairs = append(pairs, pair{indentOf(want[i]), indentOf(window[i])})
		}
	}
	if len(pairs) == 0 {
		return false
	}
	rules := []func() (shift, bool){func() (shift, bool) { return prefixShift(pairs) }, func() (shift, bool) { return depthShift(pairs) }}
	for _, rule := range rules {
		if s, ok := rule(); ok {
			_, fits := s.lines(e.New)
			return fits
		}
	}
	return false
}

func mapPlain(s string) []rune {
	var out []rune
	for _, r := range s {
		out = append(out, plain(r))
	}
	return out
}

// slowFind returns the reference of Find: the rung, and the places on it.
func slowFind(text string, e Edit) (Rung, []Place) {
	for rung := Exact; rung <= Indentation; rung++ {
		var places []Place
		unix := unixLines(e)
		switch rung {
		case Exact:
			places = everywhere(text, e.Old)
		case LineEndings:
			places = everywhere(text, unix.Old)
			if old, ok := strings.CutSuffix(unix.Old, "\n"); ok && len(places) == 0 && old != "" && !strings.HasSuffix(text, "\n") && strings.HasSuffix(text, old) {
				places = []Place{{Start: len(text) - len(old), End: len(text)}}
			}
		case TrailingBlanks:
			places = slowAlike(text, unix.Old, trailing)
		case Typography:
			places = slowAlike(text, unix.Old, trailing|typography)
		case Indentation:
			places = slowReindented(text, unix)
		}
		if len(places) > 0 {
			return rung, places
		}
	}
	return 0, nil
}

func everywhere(text, old string) []Place {
	var out []Place
	for i := 0; i+len(old) <= len(text); i++ {
		if text[i:i+len(old)] == old {
			out = append(out, Place{Start: i, End: i + len(old)})
		}
	}
	return out
}

// checkFind holds Find against the reference.
func checkFind(t interface{ Fatalf(string, ...any) }, text string, e Edit) {
	if e.Old == "" || unixLines(e).Old == unixLines(e).New {
		return
	}
	got, err := Find(text, e)
	rung, places := slowFind(text, e)
	outcome := "found"
	if err != nil {
		outcome = outcomeOf(err)
	}
	switch {
	case len(places) == 0:
		if outcome != "not found" && outcome != "already applied" {
			t.Fatalf("%q %+v: got %s, %+v; it is nowhere", text, e, outcome, got)
		}
		return
	case len(places) > 1:
		want := "ambiguous: " + rung.String()
		if rung == Exact && unixLines(e) != e && !strings.Contains(e.Old, "\r\n") {
			want = "ambiguous: " + LineEndings.String()
		}
		if outcome != want {
			t.Fatalf("%q %+v: got %s, %+v; want %s %+v", text, e, outcome, got, want, places)
		}
		return
	case outcome == "no change" || outcome == "already applied":
		return
	case outcome != "found":
		t.Fatalf("%q %+v: got %s; it is at %+v up to %v", text, e, outcome, places, rung)
	}
	if diff := cmp.Diff(places, got.Places, cmpopts.IgnoreFields(Place{}, "Line")); diff != "" {
		t.Fatalf("%q %+v: %s", text, e, diff)
	}
	checkResult(t, text, e, got)
}

// checkResult holds what a match makes of the text against the plain replacement of its place.
func checkResult(t interface{ Fatalf(string, ...any) }, text string, e Edit, m Match) {
	p := m.Places[0]
	after := m.Apply(text)
	if p.Line != 1+strings.Count(text[:p.Start], "\n") {
		t.Fatalf("%q %+v: line %d", text, e, p.Line)
	}
	end := p.Start
	for _, s := range m.Spans {
		if s.Start < end || s.End < s.Start || s.End > p.End {
			t.Fatalf("%q %+v: span %+v outside %+v", text, e, s, p)
		}
		end = s.End
	}
	if !strings.HasPrefix(after, text[:p.Start]) || !strings.HasSuffix(after, text[p.End:]) {
		t.Fatalf("%q %+v: changed outside %+v: %q", text, e, p, after)
	}
	if m.Rung == Exact {
		if want := strings.Replace(text, e.Old, e.New, 1); after != want {
			t.Fatalf("%q %+v: got %q, want %q", text, e, after, want)
		}
		return
	}
	f := map[Rung]forgiven{LineEndings: 0, TrailingBlanks: trailing, Typography: trailing | typography, Indentation: leading | trailing | typography}[m.Rung]
	unix, _ := settleEnd(unixLines(e), f)
	if f == 0 {
		unix = unixLines(e)
	}
	fits := []string{unix.New, strings.TrimSuffix(unix.New, "\n")} // the second at the end of a text without newline
	for _, new := range fits {
		if normalize(after, f).text == normalize(text[:p.Start]+new+text[p.End:], f).text {
			return
		}
	}
	t.Fatalf("%q %+v: got %q with %+v", text, e, after, m)
}

// someText makes texts in which look-alikes are frequent: of few different pieces, and often of fewer.
func someText(t *rapid.T, label string, limit int) string {
	pieces := []string{"a", "\n", " ", "b", "\t", "  ", "’", "'", "–", "-", "\u00A0", "é"}
	if rapid.Bool().Draw(t, label+" few") {
		pieces = pieces[:4]
	}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(append(pieces, "\n", "a")), 1, limit).Draw(t, label), "")
}

func mangle(t *rapid.T, s string) string {
	switch rapid.IntRange(0, 6).Draw(t, "mangle") {
	case 0:
		return strings.ReplaceAll(s, "\n", "\r\n")
	case 1:
		return strings.ReplaceAll(s, " \n", "\n")
	case 2:
		return strings.ReplaceAll(s, "\n", "  \n")
	case 3:
		return strings.NewReplacer("’", "'", "–", "-", "\u00A0", " ").Replace(s)
	case 4:
		return "\t" + strings.ReplaceAll(s, "\n", "\n\t")
	case 5:
		return strings.ReplaceAll(s, "\t", "  ")
	}
	return s
}

func TestFindAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := someText(t, "text", 30)
		letters := lettersOf(text, 0)
		i := rapid.IntRange(0, len(letters)-1).Draw(t, "i")
		j := rapid.IntRange(i, len(letters)-1).Draw(t, "j")
		old := mangle(t, text[letters[i].at:letters[j].end])
		if rapid.Bool().Draw(t, "lines") {
			lines := strings.SplitAfter(text, "\n")
			i := rapid.IntRange(0, len(lines)-1).Draw(t, "first")
			old = mangle(t, strings.Join(lines[i:rapid.IntRange(i+1, len(lines)).Draw(t, "last")], ""))
		}
		checkFind(t, text, Edit{Old: old, New: someText(t, "new", 8)})
	})
}

func FuzzFind(f *testing.F) {
	f.Add("a\n  b\n", "a\nb", "c")
	f.Add("\tx\n\ty  \n", "    x\n    y\n", "    z\n")
	f.Add("say “a”\n", "say \"a\"", "say \"b\"")
	f.Add("a\r\nb", "a\r\nb\r\n", "c")
	f.Fuzz(func(t *testing.T, text, old, new string) {
		if len(text) > 60 || len(old) > 60 || !utf8.ValidString(text) || !utf8.ValidString(old) || !utf8.ValidString(new) {
			_, _ = Find(text, Edit{Old: old, New: new}) // must only not fail
			return
		}
		checkFind(t, text, Edit{Old: old, New: new})
	})
}
