package editor

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// Left moves the cursor by a character.
func (e *Editor) Left() { e.moveTo(e.before()) }

// Right moves the cursor by a character.
func (e *Editor) Right() { e.moveTo(e.after()) }

// WordLeft moves the cursor to the start of the word before it.
func (e *Editor) WordLeft() { e.moveTo(e.wordBefore()) }

// WordRight moves the cursor to the end of the word after it.
func (e *Editor) WordRight() { e.moveTo(e.wordAfter()) }

// Home moves the cursor to the start of the line.
func (e *Editor) Home() { e.moveTo(e.start(e.cursor)) }

// End moves the cursor to the end of the line.
func (e *Editor) End() { e.moveTo(e.end(e.cursor)) }

// Up moves the cursor to the row above, as it is shown in width cells. It reports whether there is one.
func (e *Editor) Up(width int) bool { return e.vertical(width, -1) }

// Down moves the cursor to the row below. It reports whether there is one.
func (e *Editor) Down(width int) bool { return e.vertical(width, 1) }

func (e *Editor) moveTo(at int) { e.cursor, e.kind, e.column = at, other, 0 }

// before is the start of the character before the cursor.
func (e *Editor) before() int {
	at := 0
	it := displaywidth.StringGraphemes(e.text[:e.cursor])
	for it.Next() {
		if next := at + len(it.Value()); next < e.cursor {
			at = next
		}
	}
	return at
}

// after is the end of the character at the cursor.
func (e *Editor) after() int {
	it := displaywidth.StringGraphemes(e.text[e.cursor:])
	if !it.Next() {
		return e.cursor
	}
	return e.cursor + len(it.Value())
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func (e *Editor) wordBefore() int {
	s := strings.TrimRightFunc(e.text[:e.cursor], func(r rune) bool { return !isWord(r) && r < folded })
	if r, n := utf8.DecodeLastRuneInString(s); r >= folded && r != utf8.RuneError {
		return len(s) - n
	}
	return len(strings.TrimRightFunc(s, isWord))
}

func (e *Editor) wordAfter() int {
	s := strings.TrimLeftFunc(e.text[e.cursor:], func(r rune) bool { return !isWord(r) && r < folded })
	if r, n := utf8.DecodeRuneInString(s); r >= folded {
		return len(e.text) - len(s) + n
	}
	return len(e.text) - len(strings.TrimLeftFunc(s, isWord))
}

// position is where a character is shown.
type position struct{ at, row, column int }

// places are the places of all characters, and of the end, in rows of width cells. A row always has space for the
// cursor after its last character.
func (e *Editor) places(width int) []position {
	width = max(width, 4)
	var out []position
	row, column := 0, 0
	e.graphemes(func(g string, at, w int) bool {
		w = min(w, width-1)
		if g != "\n" && column+w > width-1 {
			row, column = row+1, 0
		}
		out = append(out, position{at, row, column})
		if column += w; g == "\n" {
			row, column = row+1, 0
		}
		return true
	})
	if column > width-1 {
		row, column = row+1, 0
	}
	return append(out, position{len(e.text), row, column})
}

// vertical moves the cursor by rows and keeps its column where it can.
func (e *Editor) vertical(width, by int) bool {
	places := e.places(width)
	here := find(places, e.cursor)
	want := here.column
	if e.column > 0 {
		want = e.column - 1
	}
	to := -1
	for _, p := range places {
		if p.row == here.row+by && (p.column <= want || to < 0) {
			to = p.at
		}
	}
	if to < 0 {
		return false
	}
	e.cursor, e.kind, e.column = to, other, want+1
	return true
}

func find(places []position, at int) position {
	for _, p := range places {
		if p.at >= at {
			return p
		}
	}
	return places[len(places)-1]
}

// Layout is the text in rows of width cells, and the place of the cursor.
func (e *Editor) Layout(width int) (lines []cell.Line, row, column int) {
	places := e.places(width)
	last := places[len(places)-1]
	texts := make([]strings.Builder, last.row+1)
	i := 0
	e.graphemes(func(g string, _, _ int) bool {
		if g != "\n" {
			texts[places[i].row].WriteString(e.shown(g))
		}
		i++
		return true
	})
	for i := range texts {
		lines = append(lines, cell.Text(texts[i].String()).Cut(max(width, 4)))
	}
	p := find(places, e.cursor)
	return lines, p.row, min(p.column, max(width, 4)-1)
}
