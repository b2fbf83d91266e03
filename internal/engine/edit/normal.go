package edit

import (
	"iter"
	"sort"
	"strings"
	"unicode/utf8"
)

// forgiven is what a normal form ignores.
type forgiven uint8

const (
	trailing   forgiven = 1 << iota // blanks at the end of lines
	typography                      // typographic characters become plain
	leading                         // blanks at the start of lines
)

// normal is a text in normal form, with the original positions of its bytes.
type normal struct {
	text string // the normal form
	from string // the original
	cuts []cut
}

// cut means that from offset at of the normal form on, bytes are delta further on in the original.
type cut struct{ at, delta int }

// normalize returns s in a form in which texts that differ only in what f ignores are equal.
func normalize(s string, f forgiven) normal {
	n := normal{from: s}
	var b strings.Builder
	b.Grow(len(s))
	at := 0
	for line := range strings.Lines(s) {
		bare := strings.TrimSuffix(line, "\n")
		n.addLine(&b, at, at+len(bare), f)
		if bare != line {
			n.mark(b.Len(), at+len(bare))
			b.WriteByte('\n')
		}
		at += len(line)
	}
	n.text = b.String()
	return n
}

// addLine adds the line s[at:end], without its newline.
func (n *normal) addLine(b *strings.Builder, at, end int, f forgiven) {
	if f&trailing != 0 {
		end = at + len(trimBlanks(n.from[at:end], f))
	}
	if f&leading != 0 {
		at = end - len(trimIndent(n.from[at:end], f))
	}
	n.mark(b.Len(), at)
	if f&typography == 0 || !strings.ContainsFunc(n.from[at:end], isWide) {
		b.WriteString(n.from[at:end])
		return
	}
	for at < end {
		r, size := utf8.DecodeRuneInString(n.from[at:end])
		p := plain(r)
		n.mark(b.Len(), at)
		if p != r {
			b.WriteByte(byte(p))
		} else {
			b.WriteString(n.from[at : at+size])
		}
		at += size
	}
}

// mark records that the byte at offset at of the normal form is the original's byte at offset from.
func (n *normal) mark(at, from int) {
	delta := from - at
	last := len(n.cuts) - 1
	switch {
	case last < 0 && delta == 0, last >= 0 && n.cuts[last].delta == delta:
	case last >= 0 && n.cuts[last].at == at:
		n.cuts[last].delta = delta
	default:
		n.cuts = append(n.cuts, cut{at, delta})
	}
}

// start returns the offset in the original of the byte at offset at, which must be inside the normal form.
func (n *normal) start(at int) int {
	i := sort.Search(len(n.cuts), func(i int) bool { return n.cuts[i].at > at })
	if i == 0 {
		return at
	}
	return at + n.cuts[i-1].delta
}

// end returns the offset in the original just after the byte before offset at, which must not be 0.
func (n *normal) end(at int) int {
	before := n.start(at - 1)
	if n.from[before] < 0xC0 {
		return before + 1
	}
	_, size := utf8.DecodeRuneInString(n.from[before:]) // a typographic character that became one byte
	return before + size
}

// plain maps typographic quotes, dashes and spaces to their ASCII equivalent.
func plain(r rune) rune {
	switch r {
	case '\u2018', '\u2019', '\u201A', '\u201B':
		return '\''
	case '\u201C', '\u201D', '\u201E', '\u201F':
		return '"'
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212':
		return '-'
	case '\u00A0', '\u202F', '\u205F', '\u3000':
		return ' '
	}
	if r >= '\u2000' && r <= '\u200A' {
		return ' '
	}
	return r
}

func isWide(r rune) bool { return r >= utf8.RuneSelf }

func isBlank(r rune, f forgiven) bool {
	if f&typography != 0 {
		r = plain(r)
	}
	return r == ' ' || r == '\t'
}

func trimBlanks(line string, f forgiven) string {
	return strings.TrimRightFunc(line, func(r rune) bool { return isBlank(r, f) })
}

func trimIndent(line string, f forgiven) string {
	return strings.TrimLeftFunc(line, func(r rune) bool { return isBlank(r, f) })
}

// Bounds of the similar places that a rung examines, and of their lines, so that a text of a million equal lines isn't
// slow.
const (
	maxTried      = 10_000
	maxTriedLines = 5_000_000
)

// maxPlaces bounds how many places an ambiguous rung counts.
const maxPlaces = 1000

// doneAt returns the line on which new is around place, if new occurs only there; 0 if not.
func doneAt(text, new string, place Place) int {
	if strings.TrimSpace(new) == "" {
		return 0
	}
	places := occurrences(text, new, false, func(Place) bool { return true })
	if len(places) != 1 || places[0].Start > place.Start || place.End > places[0].End {
		return 0
	}
	return lineAt(text, places[0].Start)
}

// looksAlike finds the places that equal e.Old in normal form. Without indentation they are whole lines, where one rule
// turns the indentation of all lines of Old, and of New, into that of the place.
func looksAlike(text string, e Edit, f forgiven) []candidate {
	e, toLineEnd := settleEnd(e, f)
	have, old := normalize(text, f), normalize(e.Old, f)
	if strings.TrimSpace(old.text) == "" || have.text == text && old.text == e.Old && !toLineEnd {
		return nil
	}
	lines, newline := f&leading != 0, strings.HasSuffix(old.text, "\n")
	// A whitespace-only first line means a blank line: otherwise it would match at the end of any line.
	fromLineStart := lines || strings.HasPrefix(old.text, "\n") && !strings.HasPrefix(e.Old, "\n")
	var found []candidate
	add := func(start, end int, e *Edit) {
		p := Place{Start: have.start(start), End: have.end(end)}
		if lines {
			p.Start = strings.LastIndexByte(text[:p.Start], '\n') + 1
			e = reindented(text[p.Start:p.End], e)
		}
		if e != nil {
			found = append(found, candidate{Place: p, edit: e})
		}
	}
	tried, size := 0, 1+strings.Count(old.text, "\n")
	for start := range each(have.text, old.text, 1) {
		if fromLineStart && !startsLine(have.text, start) {
			continue
		}
		if tried++; tried > maxTried || tried*size > maxTriedLines || len(found) >= maxPlaces {
			break
		}
		end := start + len(old.text)
		if !toLineEnd && (newline || !lines) || endsLine(have.text, end) {
			add(start, end, &e)
		}
	}
	ended := strings.HasSuffix(have.text, "\n")
	if lines { // a blank last line isn't in the normal form
		ended, toLineEnd = strings.HasSuffix(text, "\n"), false
	}
	start, ok := atEnd(have.text, old.text)
	if ok && !ended && !toLineEnd && (!fromLineStart || startsLine(have.text, start)) {
		add(start, len(have.text), withoutEnd(e))
	}
	return found
}

// settleEnd removes whitespace from the end of Old, and from New if it ends with the same. It meant the end of a line,
// and the place must end at one: otherwise "foo " would match in "foobar".
func settleEnd(e Edit, f forgiven) (settled Edit, toLineEnd bool) {
	old := trimBlanks(e.Old, f)
	blanks := e.Old[len(old):]
	if blanks == "" {
		return e, false
	}
	e.Old, e.New = old, strings.TrimSuffix(e.New, blanks)
	return e, true
}

func startsLine(s string, at int) bool { return at == 0 || s[at-1] == '\n' }

func endsLine(s string, at int) bool { return at == len(s) || s[at] == '\n' }

// atEnd returns where old, without its final newline, ends a text.
func atEnd(text, old string) (start int, ok bool) {
	want, ok := strings.CutSuffix(old, "\n")
	return len(text) - len(want), ok && want != "" && strings.HasSuffix(text, want)
}

// each returns where old is in text. With a step of len(old), places don't overlap; with 1 they may.
func each(text, old string, step int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := 0; ; at += step {
			i := strings.Index(text[at:], old)
			if at += i; i < 0 || !yield(at) {
				return
			}
		}
	}
}
