package cell

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Wrap breaks a line between words so that each part fits in width cells. Parts after the first start with indent. A
// word that is wider than a line is broken where the line ends. Spaces at a break are dropped.
func Wrap(l Line, width int, indent Line) []Line {
	if l.Width() <= width {
		return []Line{l}
	}
	width = max(width, 1)
	if indent.Width() >= width {
		indent = nil
	}
	var out []Line
	for i, r := range breaks(l.String(), width, width-indent.Width()) {
		part := l.slice(r.from, r.to)
		if i > 0 && len(indent) > 0 {
			part = append(append(Line{}, indent...), part...)
		}
		out = append(out, part)
	}
	return out
}

// part is a range of bytes of a text.
type part struct{ from, to int }

// breaks divides a text into lines: the first of first cells, the others of rest.
func breaks(s string, first, rest int) []part {
	b := breaker{width: first, rest: rest}
	g := displaywidth.StringGraphemes(s)
	at := 0
	for g.Next() {
		b.next(g.Value(), at, g.Width())
		at += len(g.Value())
	}
	if b.word.to > b.word.from {
		b.endWord()
	}
	if b.line.to > b.line.from || len(b.out) == 0 {
		b.out = append(b.out, b.line)
	}
	return b.out
}

// breaker fills lines with words.
type breaker struct {
	width, rest int // cells of this line, and of the lines after it

	out  []part
	line part // up to its last word
	used int  // cells of line
	gap  int  // spaces between line and word
	word part
	cell int // cells of word

	alone bool // the word ends with a character that lines may be broken after
}

// next adds a character. A line may end at spaces and beside Chinese or Japanese characters.
func (b *breaker) next(c string, at, cells int) {
	if c == " " {
		b.endWord()
		if b.used == 0 && len(b.out) > 0 { // at the start of a later line
			b.line = part{at + 1, at + 1}
			b.word = b.line
			return
		}
		b.gap++
		b.word = part{at + 1, at + 1}
		return
	}
	alone := cells > 1 && isCJK(c)
	if (alone || b.alone) && !strings.ContainsAny(c, notFirst) {
		b.endWord()
	}
	b.alone = alone
	// nothing fits beside the spaces that the text starts with
	if b.used == 0 && b.gap > 0 && b.gap+b.cell+cells > b.width {
		b.line.from, b.gap = b.word.from, 0
	}
	if b.cell > 0 && b.cell+cells > b.room() {
		b.endWord()
		b.endLine(at)
		b.word = b.line
	}
	b.word.to = at + len(c)
	b.cell += cells
}

// room is the number of cells that the word can have.
func (b *breaker) room() int {
	if b.used > 0 { // if it is longer than this line, it goes to the next one
		return b.rest
	}
	return b.width - b.gap
}

// endWord puts the word into the line, or into the next one if it doesn't fit.
func (b *breaker) endWord() {
	if b.word.to <= b.word.from {
		return
	}
	if b.used > 0 && b.used+b.gap+b.cell > b.width {
		b.endLine(b.word.from)
	}
	b.line.to = b.word.to
	b.used += b.gap + b.cell
	b.gap, b.cell = 0, 0
	b.word = part{b.word.to, b.word.to}
}

// endLine starts the next line at a byte.
func (b *breaker) endLine(at int) {
	b.out = append(b.out, b.line)
	b.line = part{at, at}
	b.used, b.gap, b.width = 0, 0, b.rest
}

// slice is the part of a line between two bytes of its text.
func (l Line) slice(from, to int) Line {
	var out Line
	for _, s := range l {
		n := len(s.Text)
		if from < n && to > 0 {
			c := s
			c.Text = s.Text[max(from, 0):min(to, n)]
			out = append(out, c)
		}
		from -= n
		to -= n
	}
	return out
}

// notFirst are the characters that no line begins with.
const notFirst = "。、，．！？：；）」』】》"

// isCJK reports whether a character is Chinese, Japanese or another one that lines may be broken beside.
func isCJK(s string) bool { return s >= "\u1100" && s < "\ufe00" }
