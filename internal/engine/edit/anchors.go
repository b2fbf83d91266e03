package edit

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/lazy"
)

// LineEdit replaces the lines from the anchor First to the anchor Last, or only First if that is empty, by the lines of
// New. An empty New removes them.
type LineEdit struct{ First, Last, New string }

// anchorMark matches the anchor at the start of a line: its number, and a short hash of the text up to its end. So an
// anchor becomes stale when a line before it is added or removed, even if an equal line takes its place.
var anchorMark = lazy.Regexp(`^\s*(\d+):([0-9a-z]{3})(?:\| ?|\s*$)`)

// anchors goes through the lines of a text, which is fast in their order.
type anchors struct {
	text string
	at   int    // where the next line begins
	line int    // how many are before
	sum  uint32 // of what is before
}

// name returns the place of a line, counted from 1, and its anchor; "": there is no such line.
func (a *anchors) name(line int) (p Place, anchor string) {
	a.skip(line - 1)
	p = Place{Start: a.at, Line: line}
	if a.skip(line); a.at == p.Start {
		return p, ""
	}
	p.End = a.at
	short := (a.sum ^ a.sum>>16) % (36 * 36 * 36)
	return p, fmt.Sprintf("%d:%s", line, strconv.FormatUint(36*36*36+uint64(short), 36)[1:])
}

// skip goes to the end of a line, or to that of the text.
func (a *anchors) skip(line int) {
	if line < a.line {
		*a = anchors{text: a.text}
	}
	for a.line < line && a.at < len(a.text) {
		const block = 16 << 10
		part := a.text[a.at:min(a.at+block, len(a.text))]
		if lines := strings.Count(part, "\n"); a.line+lines < line {
			a.line += lines
		} else { // the line ends in this part
			end := 0
			for ; a.line < line; a.line++ {
				end += strings.IndexByte(part[end:], '\n') + 1
			}
			part = part[:end]
		}
		a.sum = crc32.Update(a.sum, crc32.IEEETable, []byte(part))
		a.at += len(part)
	}
	a.line = max(a.line, line) // the last one may have no newline
}

// find returns the line that a text begins with the anchor of, and the length of the anchor; 0 without one.
func (a *anchors) find(text string) (p Place, size int) {
	m := anchorMark().FindStringSubmatch(text)
	if m == nil {
		return p, 0
	}
	n, _ := strconv.Atoi(m[1])
	if at, name := a.name(n); name == fmt.Sprint(n, ":", m[2]) {
		p = at
	}
	return p, len(m[0])
}

// Anchored returns lines of a text with their anchors: "12:a3f| text". shown is how the lines from the given one on are
// shown.
func Anchored(text, shown string, first int) string {
	a := anchors{text: text}
	var b strings.Builder
	for i, line := range linesOf(shown) {
		_, name := a.name(first + i)
		if name == "" {
			return shown // not a part of the text
		}
		b.WriteString(name + "| " + line)
	}
	return b.String()
}

// AllLines returns the edit that replaces all lines of a text, which has some.
func AllLines(text, now string) LineEdit {
	a := anchors{text: text}
	_, first := a.name(1)
	_, last := a.name(len(linesOf(text)))
	return LineEdit{first, last, now}
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
	lines := linesOf(shown)
	if len(lines) != len(linesOf(text)) {
		return ""
	}
	near := max(all/(2*len(e.lines)), 2)
	var b strings.Builder
	for i, line := range lines {
		if !slices.ContainsFunc(e.lines, func(n int) bool { return distance(min(n, len(lines)), i+1) <= near }) {
			continue
		}
		line = "\n" + strings.TrimSuffix(Anchored(text, shortPart(line, maxPart), i+1), "\n")
		if b.Len()+len(line) > most {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// Version is an earlier text of a file, and the change that made the next one.
type Version struct {
	Text  string
	Spans []Span
}

// later returns where a place is in the next version; ok is false if it was changed.
func (v Version) later(p Place) (_ Place, ok bool) {
	by := 0
	for _, s := range v.Spans {
		if s.End <= p.Start {
			by += len(s.New) - (s.End - s.Start)
		} else if s.Start < p.End {
			return Place{}, false
		}
	}
	return Place{p.Start + by, p.End + by, p.Line}, true
}

// ApplyLines makes edits of lines, all of the same text, or none. Anchors of earlier versions name lines that weren't
// changed since. The error is a *[StaleError], a *[NoChangeError] or a *[BatchError].
func ApplyLines(text string, earlier []Version, edits []LineEdit) (Result, error) {
	a, stale := anchors{text: text}, &StaleError{}
	at := func(anchor string) Place {
		p, _ := a.find(anchor)
		for i := len(earlier) - 1; i >= 0 && p.Line == 0; i-- {
			p, _ = (&anchors{text: earlier[i].Text}).find(anchor)
			for k := i; k < len(earlier) && p.Line > 0; k++ {
				p, _ = earlier[k].later(p)
			}
		}
		if p.Line == 0 {
			digits, _, _ := strings.Cut(anchor, ":")
			n, _ := strconv.Atoi(strings.TrimSpace(digits))
			stale.Anchors = append(stale.Anchors, strconv.Quote(humanize.Cut(anchor, maxQuoted)))
			stale.lines = append(stale.lines, n)
		}
		return p
	}
	places := make([]Place, len(edits))
	for i, e := range edits {
		first := at(e.First)
		last := first
		if e.Last != "" && e.Last != e.First {
			last = at(e.Last)
		}
		places[i] = Place{first.Start, last.End, first.Line}
	}
	if len(stale.lines) > 0 {
		return Result{}, stale
	}
	found := make([][]candidate, len(edits))
	for i, p := range places {
		if p.End <= p.Start {
			return Result{}, &BatchError{i, errors.New("the last line is before the first")}
		}
		for k, other := range places[:i] {
			if p.Start < other.End && other.Start < p.End {
				return Result{}, &BatchError{i, fmt.Errorf("it overlaps edits[%d]. Join them", k)}
			}
		}
		e := Edit{Old: text[p.Start:p.End], New: a.removeFrom(strings.ReplaceAll(edits[i].New, "\r\n", "\n"))}
		if e.New = strings.TrimSuffix(e.New, "\n"); edits[i].New != "" && strings.HasSuffix(e.Old, "\n") {
			e.New += "\n"
		}
		found[i] = []candidate{{Place: p, edit: &e}}
	}
	return together(text, found)
}

// removeFrom removes anchors that were copied with lines: those of the text, and all if each line has one.
func (a *anchors) removeFrom(text string) string {
	lines := linesOf(text)
	all := !slices.ContainsFunc(lines, func(line string) bool { return !anchorMark().MatchString(line) })
	for i, line := range lines {
		if p, size := a.find(strings.TrimSuffix(line, "\n")); p.Line > 0 || all {
			lines[i] = line[size:]
		}
	}
	return strings.Join(lines, "")
}
