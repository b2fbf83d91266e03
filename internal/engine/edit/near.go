package edit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Near is the most similar place in a text.
type Near struct {
	First, Last int     // its lines, counted from 1
	Alike       float64 // between 0 and 1
	Differences []Difference
	More        int // differing lines beyond those listed
}

// Difference is a line that differs from Old.
type Difference struct {
	Line      int    // of the text; 0: the text has no such line
	Column    int    // the first character that differs, counted from 1
	Want      string // the line of Old, with whitespace and special characters made visible, cut around Column
	Have      string // the line of the text, likewise
	WantsHere string // what Old has at Column: "4 spaces"
	HasHere   string // what the text has: "a tab"
}

const (
	maxDifferences = 3   // lines shown
	maxShown       = 900 // bytes after which no more lines are shown
	shownAround    = 50  // characters shown on each side of a difference
)

// newNear describes how the lines from the given one on differ from old.
func newNear(lines, old []string, from int, alike float64) *Near {
	n := &Near{Alike: alike, First: max(from, 0) + 1, Last: min(from+len(old), len(lines))}
	for i, want := range old {
		have, line := "", 0
		if at := from + i; at >= 0 && at < len(lines) {
			have, line = lines[at], at+1
		}
		d, differs := difference(want, have, i == 0, i == len(old)-1)
		if !differs && line != 0 {
			continue
		}
		if len(n.Differences) == maxDifferences {
			n.More++
			continue
		}
		d.Line = line
		n.Differences = append(n.Differences, d)
	}
	return n
}

// difference compares a line of Old with one of the text. The first may begin, and the last may end, inside it.
func difference(want, have string, first, last bool) (Difference, bool) {
	skipped := 0
	if first {
		skipped = alignment(want, have)
	}
	rest := have[skipped:]
	if !last || strings.HasSuffix(want, "\n") {
		want, rest = strings.TrimSuffix(want, "\n"), strings.TrimSuffix(rest, "\n")
		if want == rest {
			return Difference{}, false
		}
	} else if strings.HasPrefix(rest, want) {
		return Difference{}, false
	}
	rest = strings.TrimSuffix(rest, "\n")
	same := commonPrefix(want, rest)
	return Difference{
		Column:    1 + utf8.RuneCountInString(have[:skipped+same]),
		Want:      visible(want, same),
		Have:      visible(strings.TrimSuffix(have, "\n"), skipped+same),
		WantsHere: describe(want[same:]),
		HasHere:   describe(rest[same:]),
	}, true
}

// alignment returns where in have a want that begins inside it begins: at its first characters, if they occur.
func alignment(want, have string) int {
	start := strings.TrimSuffix(want, "\n")
	if strings.HasSuffix(strings.TrimSuffix(have, "\n"), start) {
		return len(strings.TrimSuffix(have, "\n")) - len(start)
	}
	end := 0
	for n := 0; n < 8 && end < len(start); n++ {
		_, size := utf8.DecodeRuneInString(start[end:])
		end += size
	}
	if strings.TrimSpace(start[:end]) == "" {
		return 0
	}
	return max(0, strings.Index(have, start[:end]))
}

// commonPrefix returns the length of the longest common prefix of a and b, in whole characters.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) {
		r, size := utf8.DecodeRuneInString(a[n:])
		if r == utf8.RuneError && size <= 1 && a[n] != b[n] || !strings.HasPrefix(b[n:], a[n:n+size]) {
			break
		}
		n += size
	}
	return n
}

// describe names the first characters of s.
func describe(s string) string {
	if s == "" {
		return "the end of the line"
	}
	r, size := utf8.DecodeRuneInString(s)
	run := 1
	for strings.HasPrefix(s[run*size:], s[:size]) {
		run++
	}
	switch {
	case r == ' ' && run == 1:
		return "a space"
	case r == ' ':
		return fmt.Sprintf("%d spaces", run)
	case r == '\t' && run == 1:
		return "a tab"
	case r == '\t':
		return fmt.Sprintf("%d tabs", run)
	case r == '\r':
		return "a carriage return"
	case r == utf8.RuneError && size == 1:
		return fmt.Sprintf("the byte 0x%02X", s[0])
	case r < utf8.RuneSelf && r > ' ':
		return fmt.Sprintf("%q", r)
	case unicode.IsGraphic(r) && !unicode.IsSpace(r):
		return fmt.Sprintf("%c (U+%04X)", r, r)
	}
	return fmt.Sprintf("U+%04X", r)
}

// visible shows line around offset at, with visible whitespace at its ends, tabs, double spaces and special characters.
func visible(line string, at int) string {
	from, to := at, at
	for n := 0; n < shownAround && from > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(line[:from])
		from -= size
	}
	for n := 0; n < shownAround && to < len(line); n++ {
		_, size := utf8.DecodeRuneInString(line[to:])
		to += size
	}
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	end := len(strings.TrimRight(line, " \t\r"))
	var b strings.Builder
	if from > 0 {
		b.WriteString("…")
	}
	for i := from; i < to; {
		r, size := utf8.DecodeRuneInString(line[i:])
		double := i > 0 && line[i-1] == ' ' || strings.HasPrefix(line[i+size:], " ")
		switch {
		case r == ' ' && (i < indent || i >= end || double):
			b.WriteRune('·')
		case r == '\t':
			b.WriteRune('→')
		case r == '\r':
			b.WriteRune('␍')
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "<0x%02X>", line[i])
		case r == ' ' || unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Mn, r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
		i += size
	}
	if to < len(line) {
		b.WriteString("…")
	}
	return b.String()
}

// String describes its position and how it differs, in a text of limited length. The first line can be used alone.
func (n *Near) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Closest match: line%s (%d%% similar)", lineRange(n.First, n.Last), int(n.Alike*100))
	more := n.More
	for i, d := range n.Differences {
		if i > 0 && b.Len() > maxShown {
			more += len(n.Differences) - i
			break
		}
		if d.Line == 0 {
			fmt.Fprintf(&b, "\nbeyond the ends of the file\n  old_string: %s", d.Want)
			continue
		}
		fmt.Fprintf(&b, "\nline %d, column %d: old_string has %s, the file has %s\n  old_string: %s\n  file:       %s",
			d.Line, d.Column, d.WantsHere, d.HasHere, d.Want, d.Have)
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n%d more lines differ", more)
	}
	if strings.ContainsAny(b.String(), "→·") {
		b.WriteString("\n(→ is a tab, · a space)")
	}
	return b.String()
}

func lineRange(first, last int) string {
	if last <= first {
		return fmt.Sprintf(" %d", first)
	}
	return fmt.Sprintf("s %d-%d", first, last)
}

// narrow returns the spans that turn the text of place, which equals old apart from what a rung ignores, into new,
// without changing what old and new have in common. No spans means that nothing changes.
func narrow(text string, place Place, old, new string, rung Rung) []Span {
	have := linesOf(text[place.Start:place.End])
	oldLines, newLines := linesOf(old), linesOf(new)
	if len(have) != len(oldLines) { // can't happen: rungs don't ignore added or removed lines
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

// trimCommon removes from both ends of span the characters that old and span.New share, as long as the text there
// equals old: ignoring typography, on the rungs that do.
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
