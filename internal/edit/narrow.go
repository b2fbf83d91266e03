package edit

import (
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// narrow returns the spans that turn the text of place, which equals old up to what a rung forgives, into new, leaving
// alone all that old and new have in common. No spans means that nothing changes.
func narrow(text string, place Place, old, new string, rung Rung) []Span {
	have := linesOf(text[place.Start:place.End])
	oldLines, newLines := linesOf(old), linesOf(new)
	if len(have) != len(oldLines) { // cannot be: rungs forgive nothing that adds or removes a line
		return []Span{{place.Start, place.End, new}}
	}
	starts := make([]int, len(have)+1)
	starts[0] = place.Start
	for i, line := range have {
		starts[i+1] = starts[i] + len(line)
	}
	var spans []Span
	for _, d := range lcs.DiffLines(oldLines, newLines) {
		span := Span{starts[d.Start], starts[d.End], strings.Join(newLines[d.ReplStart:d.ReplEnd], "")}
		span = trimCommon(text, span, strings.Join(oldLines[d.Start:d.End], ""), rung)
		if text[span.Start:span.End] != span.New {
			spans = append(spans, span)
		}
	}
	return spans
}

// linesOf splits s after each newline; the last line may have none.
func linesOf(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// trimCommon takes from both ends of span the characters that old and span.New share, as long as the text there is
// what old says: up to typography, on the rungs that forgive it.
func trimCommon(text string, span Span, old string, rung Rung) Span {
	same := func(a, b rune) bool { return a == b || rung >= Typography && plain(a) == plain(b) }
	for span.Start < span.End && old != "" && span.New != "" {
		have, n := utf8.DecodeRuneInString(text[span.Start:span.End])
		was, m := utf8.DecodeRuneInString(old)
		if !same(have, was) || was == utf8.RuneError || !strings.HasPrefix(span.New, old[:m]) {
			break
		}
		span.Start, old, span.New = span.Start+n, old[m:], span.New[m:]
	}
	for span.Start < span.End && old != "" && span.New != "" {
		have, n := utf8.DecodeLastRuneInString(text[span.Start:span.End])
		was, m := utf8.DecodeLastRuneInString(old)
		if !same(have, was) || was == utf8.RuneError || !strings.HasSuffix(span.New, old[len(old)-m:]) {
			break
		}
		span.End, old, span.New = span.End-n, old[:len(old)-m], span.New[:len(span.New)-m]
	}
	return span
}
