package playback

import (
	"slices"

	"github.com/clipperhouse/displaywidth"

	"github.com/adze-dev/adze/internal/app/tui/cell"
	"github.com/adze-dev/adze/internal/app/tui/paint"
)

// window is the visible part of a conversation. It scrolls like a terminal: as little as possible, and never back.
type window struct {
	columns, rows int
	finished      []cell.Line // the rows above the live area that can still be visible
	above         int         // rows that have scrolled away
	total         int         // number of finished rows so far
	drawn         []cell.Line // the live area
}

// show adds a frame, and returns the visible rows and the cursor position in them. A row below 0 means that the cursor
// is hidden.
func (w *window) show(f paint.Frame) ([]cell.Line, paint.Position) {
	for _, l := range f.Finished {
		rows := fold(l, w.columns)
		w.finished = append(w.finished, rows...)
		w.total += len(rows)
	}
	live := f.Live
	cursor := f.Cursor
	if limit := max(1, w.rows-1); len(live) > limit {
		cursor.Row -= len(live) - limit
		live = live[len(live)-limit:]
	}
	drawn := make([]cell.Line, len(live))
	for i, l := range live {
		drawn[i] = l.Cut(w.columns).Trim()
	}
	w.above = max(w.above, w.total+max(len(live), w.pushed(f.Finished, len(live)))-w.rows)
	w.drawn = drawn
	if n := len(w.finished); n > w.rows {
		w.finished = append([]cell.Line{}, w.finished[n-w.rows:]...)
	}
	visible := w.finished[max(0, len(w.finished)-max(0, w.total-w.above)):]
	rows := append([]cell.Line{}, visible...)
	rows = append(rows, drawn...)
	if cursor.Row >= 0 {
		cursor.Row += len(visible)
	}
	cursor.Column = min(cursor.Column, w.columns-1)
	return rows, cursor
}

// pushed returns the number of rows of the old live area that finished lines push down. The painter first makes room
// for the lines and then draws the new area, unless there are so many lines that it prints them over the old one.
func (w *window) pushed(finished []cell.Line, live int) int {
	if len(finished) == 0 || len(w.drawn) == 0 || len(finished)+len(w.drawn) >= w.rows ||
		slices.ContainsFunc(finished, func(l cell.Line) bool { return l.MayWrap(w.columns) }) {
		return 0
	}
	n := 0 // lines that were the first of the live area, and don't move
	for n < len(finished) && n < len(w.drawn) && slices.Equal(finished[n], w.drawn[n]) {
		n++
	}
	if n == len(w.drawn) && live > 0 && n > 0 {
		n--
	}
	return len(w.drawn) - n
}

// fold breaks a line at the right edge, like terminals.
func fold(l cell.Line, columns int) []cell.Line {
	if l.Width() <= columns {
		return []cell.Line{l}
	}
	var out []cell.Line
	var row cell.Line
	used := 0
	for _, s := range l {
		start := 0
		g := displaywidth.StringGraphemes(s.Text)
		at := 0
		for g.Next() {
			if used+g.Width() > columns {
				row = append(row, cell.Span{Text: s.Text[start:at], Style: s.Style, Link: s.Link})
				out = append(out, row)
				row, used, start = nil, 0, at
			}
			used += g.Width()
			at += len(g.Value())
		}
		row = append(row, cell.Span{Text: s.Text[start:], Style: s.Style, Link: s.Link})
	}
	return append(out, row)
}
