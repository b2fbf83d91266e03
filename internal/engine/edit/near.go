package edit

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/aymanbagabas/go-udiff/lcs"
)

// Near is the most similar place in a text.
type Near struct {
	First, Last int     // its lines, counted from 1
	Alike       float64 // between 0 and 1
	Diff        string  // from Old to the place, like a unified diff; cut if it is long
	Differences []Difference
	Text        string // the place
}

// Difference names the first characters that differ in a line: whitespace, quotes and invisible characters look alike.
type Difference struct {
	Line, Column int    // of the text, counted from 1
	Want, Have   string // what Old has there, and what the text has: "4 spaces", "a tab"
}

const (
	addedWeight = 4    // of a line that Old lacks; others weigh up to 41, by their length
	maxNamed    = 3    // lines whose difference is named
	maxDiff     = 1300 // bytes of the diff
	maxPart     = 60   // bytes around a difference in a long line
	maxWhole    = 8000 // bytes of the place
	maxSlack    = 40   // lines by which the place may be longer than Old
)

// place is the lines of a text around a given one that are most like old.
type place struct {
	start  int      // the index of the first line of window
	window []string // lines of the text
	pairs  []aligned
	alike  float64
	whole  bool // Old has whole lines; otherwise it may begin and end inside a line
}

func placeAt(lines, old []string, from int, whole bool) place {
	from = min(max(from, 0), len(lines))
	p := place{start: max(from-min(len(old), maxSlack), 0), whole: whole}
	p.window = lines[p.start:min(from+len(old)+min(len(old)+1, maxSlack), len(lines))]
	p.pairs = align(old, p.window, from-p.start+len(old), whole || len(old) == 1)
	var sum, weight float64
	for _, a := range p.pairs {
		if a.old < 0 {
			weight += addedWeight
			continue
		}
		want := essence(old[a.old])
		w := 1 + float64(min(len(want), 40))
		weight += w
		if a.have >= 0 {
			sum += w * alike(want, essence(p.window[a.have]))
		}
	}
	p.alike = sum / weight
	return p
}

// near describes how a place differs from old.
func (p place) near(old []string) *Near {
	n := &Near{Alike: p.alike}
	first, last := len(p.window), 0
	for _, a := range p.pairs {
		if a.have < 0 {
			continue
		}
		first, last = min(first, a.have), max(last, a.have+1)
		if a.old < 0 {
			continue
		}
		d, differs := difference(old[a.old], p.window[a.have], !p.whole, a.old == 0)
		if d.Line = p.start + a.have + 1; differs && len(n.Differences) < maxNamed {
			n.Differences = append(n.Differences, d)
		}
	}
	n.First, n.Last = p.start+first+1, p.start+last
	n.Text = strings.Join(p.window[first:last], "")
	if !p.whole {
		n.Text = insideLines(n.Text, old, p.window[first], p.window[last-1])
	}
	want, have := strings.Join(old, ""), n.Text
	if !strings.HasSuffix(want, "\n") && !strings.HasSuffix(have, "\n") {
		want, have = want+"\n", have+"\n" // both end inside a line
	}
	c := Compare(want, have)
	c.part = maxPart
	if _, n.Diff, _ = strings.Cut(c.Unified("", ""), "@@\n"); len(n.Diff) > maxDiff {
		n.Diff = n.Diff[:strings.LastIndexByte(n.Diff[:maxDiff], '\n')+1] +
			"[…] The rest isn't shown: read these lines.\n"
	}
	return n
}

// insideLines removes from a place what is before old in its first line, and after it in its last line.
func insideLines(place string, old []string, first, last string) string {
	if len(old) > 1 && strings.TrimSpace(old[0]) != "" && strings.HasSuffix(first, old[0]) {
		place = place[len(first)-len(old[0]):]
	}
	end := old[len(old)-1]
	if after := len(last) - len(end); len(old) > 1 && after <= len(place) && strings.HasPrefix(last, end) {
		place = place[:len(place)-after]
	} else if !strings.HasSuffix(end, "\n") {
		place = strings.TrimSuffix(place, "\n")
	}
	return place
}

// aligned is a line of Old and the line of a text that stands for it; -1 without one.
type aligned struct{ old, have int }

// align finds the lines of a window that old means with the fewest changed, missing and added lines, ignoring
// whitespace and typography. Unless whole, Old may begin and end inside a line. Of equals it takes those that end
// nearest to end.
func align(old, window []string, end int, whole bool) []aligned {
	want, have := essences(old), essences(window)
	same := func(i, j int) bool {
		return want[i] == have[j] || !whole && (i == 0 && want[i] != "" && strings.HasSuffix(window[j], old[i]) ||
			i == len(old)-1 && strings.HasPrefix(window[j], old[i]))
	}
	const added, missing, alike, changed = 1, 4, 2, 5
	pair := func(i, j int) int {
		switch {
		case same(i, j):
			return 0
		case resemble(want[i], have[j]):
			return alike
		}
		return changed
	}
	cost := [][]int{make([]int, len(window)+1)} // the place begins anywhere
	for i := range old {
		row := []int{cost[i][0] + missing}
		for j := range window {
			row = append(row, min(cost[i][j+1]+missing, row[j]+added, cost[i][j]+pair(i, j)))
		}
		cost = append(cost, row)
	}
	j := 0
	for k, c := range cost[len(old)] {
		if best := cost[len(old)][j]; c < best || c == best && distance(k, end) < distance(j, end) {
			j = k
		}
	}
	var pairs []aligned
	for i := len(old); i > 0; {
		switch c := cost[i][j]; {
		case j > 0 && c == cost[i-1][j-1]+pair(i-1, j-1):
			i, j = i-1, j-1
			pairs = append(pairs, aligned{i, j})
		case c == cost[i-1][j]+missing:
			i--
			pairs = append(pairs, aligned{i, -1})
		default:
			j--
			pairs = append(pairs, aligned{-1, j})
		}
	}
	slices.Reverse(pairs)
	return pairs
}

func essences(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = essence(line)
	}
	return out
}

// resemble reports whether lines have the same start and end around a change that isn't the larger part.
func resemble(a, b string) bool {
	a, b = a[:min(len(a), maxCompared)], b[:min(len(b), maxCompared)]
	start, end := common(a, b)
	return 2*(start+end) > max(len(a), len(b))
}

// common returns the lengths of the common start and the common end of two texts, in whole characters, without
// overlaps.
func common(a, b string) (start, end int) {
	limit := min(len(a), len(b))
	start = sameStart(a, b)
	for start > 0 && start < limit && !(utf8.RuneStart(a[start]) && utf8.RuneStart(b[start])) {
		start--
	}
	end = sameEnd(a[start:], b[start:])
	for end > 0 && !utf8.RuneStart(a[len(a)-end]) {
		end--
	}
	return start, end
}

func distance(a, b int) int { return max(a-b, b-a) }

// difference compares a line of Old with one of the text. A partial Old may begin inside its first line, and end inside
// its last one, which has no newline then.
func difference(want, have string, partial, first bool) (d Difference, differs bool) {
	want, have, whole := strings.TrimSuffix(want, "\n"), strings.TrimSuffix(have, "\n"), strings.HasSuffix(want, "\n")
	skipped := 0
	if partial && first {
		skipped = alignment(want, have)
	}
	rest := have[skipped:]
	if want == rest || partial && !whole && strings.HasPrefix(rest, want) {
		return d, false
	}
	same, _ := common(want, rest)
	column := 1 + utf8.RuneCountInString(have[:skipped+same])
	return Difference{0, column, describe(want[same:]), describe(rest[same:])}, true
}

// alignment returns where in have a want that begins inside it begins: at its first characters, if they occur.
func alignment(want, have string) int {
	if strings.HasSuffix(have, want) {
		return len(have) - len(want)
	}
	runes := []rune(want[:min(len(want), 8*utf8.UTFMax)])
	start := string(runes[:min(len(runes), 8)])
	if strings.TrimSpace(start) == "" {
		return 0
	}
	return max(0, strings.Index(have, start))
}

// describe names the first characters of s.
func describe(s string) string {
	if s == "" {
		return "the end of the line"
	}
	r, size := utf8.DecodeRuneInString(s)
	blank := map[rune]string{' ': "space", '\t': "tab", '\r': "carriage return"}[r]
	run := len(s) - len(strings.TrimLeft(s, s[:1]))
	switch {
	case blank != "" && run == 1:
		return "a " + blank
	case blank != "":
		return fmt.Sprintf("%d %ss", run, blank)
	case r == utf8.RuneError && size == 1:
		return fmt.Sprintf("the byte 0x%02X", s[0])
	case r < utf8.RuneSelf && r > ' ':
		return fmt.Sprintf("%q", r)
	}
	return fmt.Sprintf("%#U", r)
}

// String describes the position and how it differs, in a text of limited length. The first line can be used alone.
func (n *Near) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Closest match: line%s (%d%% similar).", lineRange(n.First, n.Last), int(n.Alike*100))
	if n.Diff != "" {
		fmt.Fprintf(&b, " Lines with - are only in your text, lines with + only in the file:\n%s", n.Diff)
	}
	for _, d := range n.Differences {
		fmt.Fprintf(&b, "line %d, column %d: your text has %s, the file has %s\n", d.Line, d.Column, d.Want, d.Have)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Whole returns the place, to copy from.
func (n *Near) Whole() string {
	return fmt.Sprintf("This edit failed before. The file has, at line%s:\n%s", lineRange(n.First, n.Last),
		humanize.Cut(n.Text, maxWhole))
}

func lineRange(first, last int) string {
	if last <= first {
		return fmt.Sprintf(" %d", first)
	}
	return fmt.Sprintf("s %d-%d", first, last)
}

// narrow returns the spans that turn the text of a place, which equals Old apart from what its rung ignores, into New,
// without changing what Old and New have in common. No spans means that nothing changes.
func narrow(text string, c candidate) []Span {
	have, oldLines, newLines := linesOf(text[c.Start:c.End]), linesOf(c.edit.Old), linesOf(c.edit.New)
	starts := startsOf(have, c.Start) // of as many lines as Old has: rungs don't ignore added or removed lines
	var spans []Span
	for _, d := range lcs.DiffLines(oldLines, newLines) {
		span := Span{starts[d.Start], starts[d.End], strings.Join(newLines[d.ReplStart:d.ReplEnd], "")}
		span = trimCommon(text, span, strings.Join(oldLines[d.Start:d.End], ""), c.rung)
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
