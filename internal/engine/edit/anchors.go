package edit

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/engine/lazy"
)

// LineEdit replaces the lines from the anchor First to the anchor Last, or only First if that is empty, by the lines of
// New. An empty New removes them.
type LineEdit struct{ First, Last, New string }

// anchorMark matches the anchor at the start of a line: its number, and a short hash of the text up to its end. So an
// anchor becomes stale when a line before it is added or removed, even if an equal line takes its place.
var anchorMark = lazy.Regexp(`^\s*(\d+):([0-9a-z]{3})(?:\| ?|\s*$)`)

// anchors are the lines of a text.
type anchors struct {
	text   []byte
	starts []int  // where each line starts, and the end of the text
	summed int    // how many lines sum is of
	sum    uint32 // it is fast to name lines in their order
}

func anchorsOf(text string) *anchors {
	a := &anchors{text: []byte(text), starts: lineStarts(text)}
	if text == "" || strings.HasSuffix(text, "\n") {
		a.starts = a.starts[:len(a.starts)-1]
	}
	return a
}

func (a *anchors) count() int { return len(a.starts) - 1 }

// name returns the anchor of a line, counted from 1.
func (a *anchors) name(line int) string {
	if line < a.summed {
		a.summed, a.sum = 0, 0
	}
	a.sum = crc32.Update(a.sum, crc32.IEEETable, a.text[a.starts[a.summed]:a.starts[line]])
	a.summed = line
	short := (a.sum ^ a.sum>>16) % (36 * 36 * 36)
	return fmt.Sprintf("%d:%s", line, strconv.FormatUint(36*36*36+uint64(short), 36)[1:])
}

// find returns the line that a text begins with the anchor of, and the length of the anchor; 0: there is none.
func (a *anchors) find(text string) (line, size int) {
	m := anchorMark().FindStringSubmatch(text)
	if m == nil {
		return 0, 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n < 1 || n > a.count() || a.name(n) != fmt.Sprint(n, ":", m[2]) {
		return 0, len(m[0])
	}
	return n, len(m[0])
}

// Anchored returns lines of a text with their anchors: "12:a3f| text". shown is how the lines from the given one on are
// shown.
func Anchored(text, shown string, first int) string {
	a, lines := anchorsOf(text), linesOf(shown)
	if first-1+len(lines) > a.count() {
		return shown // not a part of the text
	}
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(a.name(first+i) + "| " + line)
	}
	return b.String()
}

// AllLines returns the edit that replaces all lines of a text, which has some.
func AllLines(text, now string) LineEdit {
	a := anchorsOf(text)
	return LineEdit{a.name(1), a.name(a.count()), now}
}

// StaleError reports anchors that no line of the text has.
type StaleError struct {
	Anchors []string
	lines   []int
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("%s: no line has this anchor now", strings.Join(e.Anchors, ", "))
}

// Around returns the current lines around stale anchors, at most about 1.5 KB. shown is the text as it is shown.
func (e *StaleError) Around(text, shown string) string {
	const all, most = 16, 1500
	a, lines := anchorsOf(text), linesOf(shown)
	near := max(all/(2*len(e.lines)), 2)
	var b strings.Builder
	for i := 1; i <= len(lines) && len(lines) == a.count(); i++ {
		if !slices.ContainsFunc(e.lines, func(n int) bool { return distance(min(n, len(lines)), i) <= near }) {
			continue
		}
		line := "\n" + a.name(i) + "| " + strings.TrimSuffix(shortPart(lines[i-1], maxPart), "\n")
		if b.Len()+len(line) > most {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// ApplyLines makes edits of lines, all of the same text, or none. The error is a *[StaleError], a *[NoChangeError] or a
// *[BatchError].
func ApplyLines(text string, edits []LineEdit) (Result, error) {
	a := anchorsOf(text)
	stale := &StaleError{}
	at := func(anchor string) int {
		line, _ := a.find(anchor)
		if line == 0 {
			digits, _, _ := strings.Cut(anchor, ":")
			n, _ := strconv.Atoi(strings.TrimSpace(digits))
			stale.Anchors, stale.lines = append(stale.Anchors, strconv.Quote(shortLine(anchor))), append(stale.lines, n)
		}
		return line
	}
	var r Result
	for i, e := range edits {
		first, last := at(e.First), 0
		if last = first; e.Last != "" {
			last = at(e.Last)
		}
		switch {
		case len(stale.lines) > 0:
			continue
		case last < first:
			return Result{}, &BatchError{i, fmt.Errorf("the last line, %d, is before the first, %d", last, first)}
		}
		place := Place{a.starts[first-1], a.starts[last], first}
		now := a.removeFrom(strings.ReplaceAll(e.New, "\r\n", "\n"))
		if now = strings.TrimSuffix(now, "\n"); e.New != "" && text[place.End-1] == '\n' {
			now += "\n"
		}
		for k, m := range r.Matches {
			if p := m.Places[0]; p.Start < place.End && place.Start < p.End {
				return Result{}, &BatchError{i, fmt.Errorf("it overlaps edits[%d]. Join them", k)}
			}
		}
		m := Match{Places: []Place{place}, Spans: narrow(text, place, text[place.Start:place.End], now, Exact)}
		r.Matches, r.Spans = append(r.Matches, m), append(r.Spans, m.Spans...)
	}
	if len(stale.lines) > 0 {
		return Result{}, stale
	}
	slices.SortStableFunc(r.Spans, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	if unchanged(text, r.Spans) {
		return Result{}, &NoChangeError{}
	}
	return r, nil
}

// removeFrom removes anchors that were copied with lines: those of the text, and all if each line has one.
func (a *anchors) removeFrom(text string) string {
	lines := linesOf(text)
	all := !slices.ContainsFunc(lines, func(line string) bool { return !anchorMark().MatchString(line) })
	for i, line := range lines {
		if n, size := a.find(strings.TrimSuffix(line, "\n")); n > 0 || all {
			lines[i] = line[size:]
		}
	}
	return strings.Join(lines, "")
}
