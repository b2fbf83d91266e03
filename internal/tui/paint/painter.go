// Package paint prints a conversation into a terminal without taking it over.
//
// Finished lines are printed once. From then on they belong to the terminal: its scrollback, its search, its selection.
// Below them is a live area, which is redrawn in place. The package uses no alternate screen and no scroll region, and
// erases nothing but the live area.
//
//	p := paint.New(os.Stdout, paint.Options{Size: size})
//	p.Paint(paint.Frame{Finished: lines, Live: area, Cursor: paint.Position{Row: 1, Column: 2}})
//	p.Close()
//
// A frame is one write. It contains only what changed: a line that moves from the live area to the finished lines is not
// printed again, and rows are moved by inserting and deleting lines.
package paint

import (
	"io"
	"slices"
	"strconv"

	"github.com/adze-dev/adze/internal/tui/cell"
)

// Position is a cell of the live area, from 0.
type Position struct{ Row, Column int }

// Frame is what the terminal shows next.
type Frame struct {
	Finished []cell.Line // printed above the live area, in addition to all that was finished before
	Live     []cell.Line // cut to the size of the terminal: the last rows remain
	Cursor   Position    // where the user types; a row below 0 hides the cursor
}

// Options configure a Painter.
type Options struct {
	// Size is the terminal's current size. It is called for each frame.
	Size   func() (columns, rows int)
	Colors cell.Colors
}

// Painter draws frames. It is not safe for concurrent use.
type Painter struct {
	w    io.Writer
	size func() (columns, rows int)

	// Synchronized is set if the terminal can show a frame at once (mode 2026).
	Synchronized bool
	// KeepsRows is set if the terminal cuts long lines when it becomes narrower, as xterm does. Others wrap them.
	KeepsRows bool
	// Colors can be changed between frames. The live area is drawn again with the next frame if Redraw is called.
	Colors cell.Colors

	columns, rows int
	drawn         []cell.Line // the live area as it is on the terminal
	at            Position    // of the terminal's cursor, in the live area
	hidden        bool        // the cursor is
	noWrap        bool        // text stops at the right edge
	out           []byte
}

// New makes a painter. The terminal's cursor must be at the start of a line.
func New(w io.Writer, o Options) *Painter { return &Painter{w: w, size: o.Size, Colors: o.Colors} }

// Paint shows a frame.
func (p *Painter) Paint(f Frame) error {
	p.out = p.out[:0]
	if p.Synchronized {
		p.out = append(p.out, "\x1b[?2026h"...)
	}
	begun := len(p.out)
	columns, rows := p.size()
	if columns != p.columns || rows != p.rows {
		p.resized(columns, rows)
	}
	live := p.fit(f.Live)
	finished := p.promote(f.Finished, live)
	if len(finished) > 0 {
		p.finish(finished)
	}
	p.redraw(live)
	p.place(f, len(f.Live)-len(live))
	if len(p.out) == begun {
		return nil
	}
	if p.Synchronized {
		p.out = append(p.out, "\x1b[?2026l"...)
	}
	_, err := p.w.Write(p.out)
	if cap(p.out) > maxKept {
		p.out = nil
	}
	return err
}

// maxKept is the largest buffer that is used again for the next frame.
const maxKept = 1 << 20

// Redraw draws the whole live area again with the next frame.
func (p *Painter) Redraw() { p.columns, p.rows = 0, 0 }

// Close erases the live area and leaves the terminal as it was found.
func (p *Painter) Close() error {
	err := p.Paint(Frame{})
	p.out = p.out[:0]
	p.wrap(true)
	_, err2 := p.w.Write(p.out)
	if err == nil {
		err = err2
	}
	return err
}

// fit cuts the live area to the terminal. One row remains for finished lines, so that none of it scrolls away.
func (p *Painter) fit(live []cell.Line) []cell.Line {
	if most := max(1, p.rows-1); len(live) > most {
		live = live[len(live)-most:]
	}
	out := make([]cell.Line, len(live))
	for i, l := range live {
		out[i] = l.Cut(p.columns)
	}
	return out
}

// resized finds the start of the live area after the terminal has moved it, and erases it.
func (p *Painter) resized(columns, rows int) {
	old := p.columns
	p.columns, p.rows = columns, rows
	if len(p.drawn) == 0 {
		return
	}
	up := p.at.Row
	if !p.KeepsRows && columns > 0 && columns < old {
		up = p.at.Column / columns
		for _, l := range p.drawn[:p.at.Row] {
			up += max(1, (l.Width()+columns-1)/columns)
		}
	}
	p.out = append(p.out, '\r')
	p.csi(up, 'A')
	p.out = append(p.out, "\x1b[J"...)
	p.drawn, p.at = nil, Position{}
}

// promote takes the finished lines off that are already on the terminal, because they were the first of the live area, and
// returns the others.
func (p *Painter) promote(finished, live []cell.Line) []cell.Line {
	n := 0
	for n < len(finished) && n < len(p.drawn) && same(finished[n], p.drawn[n]) {
		n++
	}
	if n == len(p.drawn) && len(live) > 0 && n > 0 { // the cursor stays inside the live area
		n--
	}
	p.drawn = p.drawn[n:]
	p.at.Row -= n
	return finished[n:]
}

// finish prints lines above the live area.
func (p *Painter) finish(lines []cell.Line) {
	if n := len(lines); len(p.drawn) > 0 && n+len(p.drawn) < p.rows && !slices.ContainsFunc(lines, p.wide) {
		p.insert(0, n)
		p.print(lines)
		p.drawn = p.drawn[n:]
		return
	}
	p.move(Position{})
	if len(p.drawn) > 0 {
		p.out = append(p.out, "\x1b[J"...)
	}
	p.print(lines)
	p.drawn, p.at = nil, Position{}
}

// print writes finished lines from the cursor on. The terminal may wrap them.
func (p *Painter) print(lines []cell.Line) {
	p.move(Position{})
	for _, l := range lines {
		p.wrap(p.wide(l)) // if it fits by our count, it takes one row by the terminal's count too
		p.out = l.Append(p.out, p.Colors)
		p.out = append(p.out, "\r\n"...)
	}
	p.at = Position{}
}

// wide reports whether a finished line takes several rows.
func (p *Painter) wide(l cell.Line) bool { return l.Width() > p.columns }

// redraw changes the live area to these lines. Rows that only moved are not written again.
func (p *Painter) redraw(live []cell.Line) {
	p.wrap(len(live) == 0)
	head := 0
	for head < len(live) && head < len(p.drawn) && same(live[head], p.drawn[head]) {
		head++
	}
	tail := 0
	for tail < len(live)-head && tail < len(p.drawn)-head && same(live[len(live)-1-tail], p.drawn[len(p.drawn)-1-tail]) {
		tail++
	}
	switch more := len(live) - len(p.drawn); {
	case len(p.drawn) == 0 || tail == 0 && more > 0: // new rows at the end
	case more > 0:
		p.insert(len(p.drawn)-tail, more)
	case more < 0 && tail > 0:
		p.move(Position{Row: len(live) - tail})
		p.csi(-more, 'M')
		p.drawn = slices.Delete(slices.Clone(p.drawn), len(live)-tail, len(live)-tail-more)
	}
	for i, l := range live {
		if i >= len(p.drawn) {
			p.appendRow(l)
		} else if !same(l, p.drawn[i]) {
			p.rewrite(i, l)
		}
	}
	if len(p.drawn) > len(live) { // rows that were the last
		p.move(Position{Row: len(live)})
		p.out = append(p.out, "\x1b[J"...)
		if n := len(live); n > 0 {
			p.drawn = p.drawn[:n]
			p.move(Position{Row: n - 1})
		}
	}
	p.drawn = live
}

// insert opens n empty rows before a row of the live area. The terminal scrolls if there is no space below.
func (p *Painter) insert(row, n int) {
	p.move(Position{Row: len(p.drawn) - 1})
	for range n {
		p.out = append(p.out, '\n')
	}
	p.at.Row += n
	p.move(Position{Row: row})
	p.csi(n, 'L')
	p.at.Column = 0 // in some terminals
	p.out = append(p.out, '\r')
	p.drawn = slices.Insert(slices.Clone(p.drawn), row, make([]cell.Line, n)...)
}

// appendRow draws a row below the last one.
func (p *Painter) appendRow(l cell.Line) {
	if n := len(p.drawn); n > 0 {
		p.move(Position{Row: n - 1})
		p.out = append(p.out, "\r\n"...)
		p.at = Position{Row: n}
	} else {
		p.move(Position{})
	}
	p.out = l.Append(p.out, p.Colors)
	p.at.Column = l.Width()
	p.drawn = append(p.drawn[:len(p.drawn):len(p.drawn)], l)
}

// rewrite draws a row from its first difference on.
func (p *Painter) rewrite(row int, l cell.Line) {
	old := p.drawn[row]
	from, rest := l.After(old)
	p.move(Position{Row: row, Column: from})
	if from == p.columns { // it only became shorter by nothing visible
		return
	}
	p.out = rest.Append(p.out, p.Colors)
	p.at.Column = l.Width()
	if l.Width() < old.Width() {
		p.out = append(p.out, "\x1b[K"...)
	}
}

// place moves the cursor to where the user types.
func (p *Painter) place(f Frame, cut int) {
	to := Position{Row: f.Cursor.Row - cut, Column: min(f.Cursor.Column, max(0, p.columns-1))}
	hide := f.Cursor.Row < 0 || to.Row < 0 || to.Row >= len(p.drawn)
	if len(p.drawn) == 0 {
		hide = false
	}
	if hide != p.hidden {
		p.hidden = hide
		if hide {
			p.out = append(p.out, "\x1b[?25l"...)
		} else {
			p.out = append(p.out, "\x1b[?25h"...)
		}
	}
	if !hide && len(p.drawn) > 0 {
		p.move(to)
	}
}

// move moves the cursor within the live area.
func (p *Painter) move(to Position) {
	switch {
	case to.Row < p.at.Row:
		p.csi(p.at.Row-to.Row, 'A')
	case to.Row > p.at.Row:
		p.csi(to.Row-p.at.Row, 'B')
	}
	switch {
	case to.Column == p.at.Column && p.at.Column < p.columns:
	case to.Column == 0:
		p.out = append(p.out, '\r')
	default:
		p.csi(to.Column+1, 'G')
	}
	p.at = to
}

// wrap switches whether the terminal wraps text at its right edge. In the live area it must not: if the terminal becomes
// narrower while a frame is on its way, each row still takes one row.
func (p *Painter) wrap(on bool) {
	if p.noWrap != on {
		return
	}
	p.noWrap = !on
	if on {
		p.out = append(p.out, "\x1b[?7h"...)
	} else {
		p.out = append(p.out, "\x1b[?7l"...)
	}
}

// csi appends a control sequence with one number; none if the number is 0.
func (p *Painter) csi(n int, final byte) {
	if n == 0 {
		return
	}
	p.out = append(p.out, "\x1b["...)
	if n > 1 {
		p.out = strconv.AppendInt(p.out, int64(n), 10)
	}
	p.out = append(p.out, final)
}

func same(a, b cell.Line) bool { return slices.Equal(a, b) }
