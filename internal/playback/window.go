package playback

import (
	"github.com/clipperhouse/displaywidth"

	"github.com/adze-dev/adze/internal/tui/cell"
	"github.com/adze-dev/adze/internal/tui/paint"
)

// window is the part of a conversation that a terminal shows. It scrolls like one: as little as possible, and never back.
type window struct {
	columns, rows int
	finished      []cell.Line // the rows above the live area that can still be visible
	above         int         // rows that scrolled away, of all that were finished
	total         int         // rows that were ever finished
}

// show adds a frame, and returns the rows that are visible now and the cursor in them. A row below 0: it is hidden.
func (w *window) show(f paint.Frame) ([]cell.Line, paint.Position) {
	for _, l := range f.Finished {
		rows := fold(l, w.columns)
		w.finished = append(w.finished, rows...)
		w.total += len(rows)
	}
	live := f.Live
	cursor := f.Cursor
	if most := max(1, w.rows-1); len(live) > most {
		cursor.Row -= len(live) - most
		live = live[len(live)-most:]
	}
	w.above = max(w.above, w.total+len(live)-w.rows)
	if n := len(w.finished); n > w.rows {
		w.finished = append([]cell.Line{}, w.finished[n-w.rows:]...)
	}
	visible := w.finished[max(0, len(w.finished)-max(0, w.total-w.above)):]
	rows := append([]cell.Line{}, visible...)
	for _, l := range live {
		rows = append(rows, l.Cut(w.columns))
	}
	if cursor.Row >= 0 {
		cursor.Row += len(visible)
	}
	cursor.Column = min(cursor.Column, w.columns-1)
	return rows, cursor
}

// fold breaks a line at the right edge, as terminals do.
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
