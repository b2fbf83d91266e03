package search

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// taker turns matching places of the buffer at hand into numbered lines with context. Its offsets are into that buffer,
// and slide says when the buffer moves.
type taker struct {
	p             *Pattern
	before, after int
	maxLine       int
	max           int  // matches of which lines are taken; the rest are counted only
	on            bool // lines are wanted

	count   int // matching lines so far
	number  int // of the line that begins at counted
	counted int // offset up to which line ends were counted
	next    int // beginning of the first line not taken yet
	due     int // lines of context still to come

	lines []Line
	ends  []int  // where each line's text ends in text
	text  []byte // of all lines, so that they cost one allocation
}

func (t *taker) reset(on bool) {
	t.on, t.count, t.number, t.counted, t.next, t.due = on, 0, 1, 0, 0, 0
	t.lines, t.ends, t.text = t.lines[:0], t.ends[:0], t.text[:0]
}

// match takes a matching line and the context before it.
func (t *taker) match(data []byte, from, to int) {
	t.count++
	if !t.on {
		return
	}
	t.context(data, from)
	begin := from
	for k := 0; k < t.before && begin > t.next; k++ {
		begin = bytes.LastIndexByte(data[:begin-1], '\n') + 1
	}
	for begin < from {
		end := lineEnd(data, begin)
		t.add(data, begin, end, false)
		begin = end + 1
	}
	t.add(data, from, to, true)
	t.next, t.due = to+1, t.after
	if t.count >= t.max && t.max > 0 {
		t.on = t.due > 0
	}
}

// context takes the lines due after the last match, up to an offset where another match begins.
func (t *taker) context(data []byte, upTo int) {
	for t.due > 0 && t.next < upTo {
		end := lineEnd(data, t.next)
		t.add(data, t.next, end, false)
		t.next = end + 1
		t.due--
	}
}

// slide says that the first n bytes of the buffer go.
func (t *taker) slide(data []byte, n int) {
	if t.on {
		t.countTo(data, n)
		t.counted = 0
	}
	t.next = max(0, t.next-n)
}

// countTo brings the line number up to an offset.
func (t *taker) countTo(data []byte, at int) {
	if at > t.counted {
		t.number += bytes.Count(data[t.counted:at], newline)
		t.counted = at
	}
}

var newline = []byte("\n")

func (t *taker) add(data []byte, from, to int, match bool) {
	t.countTo(data, from)
	line := t.p.trimCR(data[from:to])
	l := Line{Number: t.number, Match: match}
	if len(line) > t.maxLine {
		l.Cut = true
		l.Offset, line = t.cut(line, match)
	}
	t.text = append(t.text, line...)
	t.lines, t.ends = append(t.lines, l), append(t.ends, len(t.text))
}

// cut picks the part of a long line that shows the match and some of what is before it.
func (t *taker) cut(line []byte, match bool) (int, []byte) {
	start := 0
	if match {
		// A line so long that looking for the place would take noticeable time is shown from its beginning.
		if loc := t.p.full.FindIndex(line[:min(len(line), 1<<20)]); loc != nil {
			start = max(0, min(loc[0]-t.maxLine/4, len(line)-t.maxLine))
		}
	}
	end := start + t.maxLine
	for start > 0 && start < end && !utf8.RuneStart(line[start]) {
		start++
	}
	for end < len(line) && end > start && !utf8.RuneStart(line[end]) {
		end--
	}
	return start, line[start:end]
}

// taken gives the lines.
func (t *taker) taken() []Line {
	text, lines := string(t.text), slices.Clone(t.lines)
	start := 0
	for i, end := range t.ends {
		lines[i].Text = text[start:end]
		start = end
	}
	return lines
}
