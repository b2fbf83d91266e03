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
// A frame is one write. It contains only what changed: a line that moves from the live area to the finished lines is
// not printed again, and rows are moved by inserting and deleting lines.
package paint

import (
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/adze-dev/adze/internal/app/tui/cell"
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
	// Size is the terminal's current size, as the system knows it.
	Size   func() (columns, rows int)
	Colors cell.Colors
	// Report waits for the terminal's answer to the oldest [Probe] that wasn't answered yet: its size. Terminals answer
	// in order. ok is false if it doesn't answer. A nil Report is a terminal that never does.
	Report func() (columns, rows int, ok bool)
}

// Where requests a report of the cursor's position: CSI row ; column R.
const Where = "\x1b[6n"

// Probe requests a report of the terminal's size: the position of the cursor in its last cell.
const Probe = "\x1b7\x1b[999;999H" + Where + "\x1b8"

// Painter draws frames. It is not safe for concurrent use.
type Painter struct {
	w      io.Writer
	size   func() (columns, rows int)
	report func() (columns, rows int, ok bool)

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
	stale         bool        // the live area must be drawn as a whole
	unsettled     int         // further frames for which that is so
	probed        bool        // the last frame ended with a probe
	inserted      insertion   // by the last frame
	// finished lines to print again, because the terminal was resized while they were inserted
	again  []cell.Line
	buried buried // above the live area
	out    []byte
}

// New makes a painter. The terminal's cursor must be at the start of a line.
func New(w io.Writer, o Options) *Painter {
	return &Painter{w: w, size: o.Size, report: o.Report, Colors: o.Colors}
}

// Paint shows a frame.
//
// A terminal is resized at any time, and wraps the rows above the cursor before we know: tmux sends SIGWINCH a quarter
// of a second later. A frame that was made for the old size would overwrite finished lines then, or leave rows behind.
// So a frame that changes more than the row of the cursor first moves the cursor to the start of the live area and
// requests the size. If that is as expected, the cursor is where it should be, and it stays at that text however often
// the terminal is resized. Everything is drawn downwards from there. A second request tells whether that was in the
// same size.
func (p *Painter) Paint(f Frame) error {
	p.out = p.out[:0]
	p.check()
	if done, err := p.paintRow(f); done {
		return err
	}
	if err := p.anchor(); err != nil {
		return err
	}
	if p.Synchronized {
		p.out = append(p.out, "\x1b[?2026h"...)
	}
	if p.stale || p.unsettled > 0 {
		p.eraseBelow()
		p.drawn, p.stale = nil, false
		p.unsettled = max(0, p.unsettled-1)
	}
	live := p.fit(f.Live)
	p.finish(append(p.again, f.Finished...), live)
	p.redraw(live)
	p.place(f, len(f.Live)-len(live))
	if p.report != nil && len(live) > 0 { // without a live area nothing can be wrong, and another program may read next
		p.out = append(p.out, Probe...)
		p.probed = true
	}
	if p.Synchronized {
		p.out = append(p.out, "\x1b[?2026l"...)
	}
	return p.flush()
}

// paintRow shows a frame in which only the row of the cursor changed, or nothing. It reports whether the frame is such
// a one.
func (p *Painter) paintRow(f Frame) (bool, error) {
	columns, rows := p.size()
	if len(f.Finished) > 0 || p.stale || columns != p.columns || rows != p.rows {
		return false, nil
	}
	live := p.fit(f.Live)
	if len(live) != len(f.Live) || len(live) != len(p.drawn) || f.Cursor.Row != p.at.Row {
		return false, nil
	}
	for i := range live {
		if i != p.at.Row && !slices.Equal(live[i], p.drawn[i]) {
			return false, nil
		}
	}
	if row := p.at.Row; row >= 0 && row < len(live) && !slices.Equal(live[row], p.drawn[row]) {
		p.rewrite(row, live[row])
		p.drawn = live
	}
	p.place(f, 0)
	return true, p.flush()
}

// check finds out whether the last frame was drawn in the size that it was made for.
func (p *Painter) check() {
	if !p.probed {
		return
	}
	p.probed = false
	if columns, _, ok := p.report(); ok && columns != p.columns {
		p.stale, p.unsettled = true, unsettled
		p.again = p.inserted.lines
		p.buried = p.buried[:max(0, len(p.buried)-len(p.again))]
		p.columns = columns // rows are this long now: the terminal cut them
	}
}

// anchor moves the cursor to the start of the live area, and finds the size of the terminal.
func (p *Painter) anchor() error {
	columns, rows := p.size()
	if len(p.drawn) == 0 {
		p.columns, p.rows = columns, rows
		return nil
	}
	if p.report != nil && !p.hidden {
		p.hidden = true
		p.out = append(p.out, "\x1b[?25l"...)
	}
	up := p.above(columns)
	first, err := p.locate(up, columns != p.columns || rows != p.rows)
	if err != nil {
		return err
	}
	if first.ok {
		columns, rows = first.columns, first.rows
	}
	for range 8 { // resizes in a row
		more := p.above(columns) - up
		if !first.ok || more == 0 {
			break
		}
		p.csi(more, 'A')
		p.csi(-more, 'B')
		up += more
		p.out = append(p.out, Probe...)
		if err := p.flush(); err != nil {
			return err
		}
		c, r, ok := p.report()
		if !ok {
			break
		}
		columns, rows = c, r
	}
	if columns != p.columns {
		p.stale, p.unsettled = true, unsettled
	}
	if rows != p.rows { // a terminal that becomes lower drops rows below the cursor
		p.stale = true
	}
	if first.cursor.row > 0 && first.columns == columns && first.rows == rows &&
		(columns != p.columns || rows != p.rows) {
		free := first.cursor.row - 1 - up
		if first.cursor.row == 1 && first.cursor.column == 1 && p.lostCursor(columns) {
			free = rows - p.high(columns)
		}
		p.resized(free, columns)
	}
	p.columns, p.rows, p.at = columns, rows, Position{}
	return nil
}

// location is what the terminal answers about its size and its cursor.
type location struct {
	columns, rows int
	cursor        struct{ column, row int } // from 1; 0: it is not known
	ok            bool
}

// locate moves the cursor up to the start of the live area, and requests where it was and the size. If a resize is
// known of, it requests the size before too: if the sizes differ, there was another one meanwhile, and the position can
// be of either.
func (p *Painter) locate(up int, changed bool) (l location, err error) {
	if p.report != nil && changed {
		p.out = append(p.out, Probe...)
	}
	if p.report != nil {
		p.out = append(p.out, Where...)
	}
	p.out = append(p.out, '\r')
	p.csi(up, 'A')
	if p.report == nil {
		return l, nil
	}
	p.out = append(p.out, Probe...)
	if err := p.flush(); err != nil {
		return l, err
	}
	columns, rows, sized := 0, 0, true
	if changed {
		columns, rows, sized = p.report()
	}
	column, row, placed := p.report()
	l.columns, l.rows, l.ok = p.report()
	if !changed {
		columns, rows = l.columns, l.rows
	}
	if sized && placed && l.ok && columns == l.columns && rows == l.rows {
		l.cursor.column, l.cursor.row = column, row
	}
	return l, nil
}

// resized looks after rows that scrolled away, or came back, with a change of size. free is the number of rows above
// the live area; below 0, it is how many of its own have scrolled away.
func (p *Painter) resized(free, columns int) {
	if free < 0 && len(p.again) == 0 {
		p.bury(-free, columns)
		return
	}
	rest, taken, lines := p.buried.unearth(free, columns)
	if taken == 0 {
		return
	}
	p.csi(taken, 'A')
	p.buried, p.stale = rest, true
	p.again = append(lines, p.again...)
}

// above is the number of rows between the start of the live area and the cursor, if the terminal has become this wide
// since the area was drawn.
func (p *Painter) above(columns int) int {
	n := 0
	if len(p.again) > 0 {
		n = p.inserted.rows(columns)
	}
	if p.KeepsRows || columns >= p.columns || columns <= 0 {
		return n + p.at.Row
	}
	n += p.at.Column / columns
	for _, l := range p.drawn[:p.at.Row] {
		n += high(l.Cut(p.columns), columns)
	}
	return n
}

func (p *Painter) flush() error {
	if len(p.out) == 0 {
		return nil
	}
	_, err := p.w.Write(p.out)
	p.out = p.out[:0]
	if cap(p.out) > maxKept {
		p.out = nil
	}
	return err
}

// unsettled is the number of frames after a resize that draw the whole live area. They need not know what it looks
// like, so more resizes do no harm.
const unsettled = 30

// maxKept is the largest buffer that is used again for the next frame.
const maxKept = 1 << 20

// Redraw draws the whole live area again with the next frame.
func (p *Painter) Redraw() { p.stale = true }

// Close erases the live area and leaves the terminal as it was found.
func (p *Painter) Close() error {
	err := p.Paint(Frame{})
	p.wrap(true)
	return errors.Join(err, p.flush())
}

// fit cuts the live area to the terminal. One row remains for finished lines, so that none of it scrolls away.
func (p *Painter) fit(live []cell.Line) []cell.Line {
	if limit := max(1, p.rows-1); len(live) > limit {
		live = live[len(live)-limit:]
	}
	out := make([]cell.Line, len(live))
	for i, l := range live {
		out[i] = l.Cut(p.columns).Trim()
	}
	return out
}

// insertion is what a frame put between the finished lines and the live area.
type insertion struct {
	lines    []cell.Line
	promoted int // of them, the first ones, which were on the terminal before
}

// rows is the number of rows from the first line to the live area if the terminal had this width instead of the
// expected.
func (n insertion) rows(columns int) int {
	rows := n.promoted
	for _, l := range n.lines[n.promoted:] {
		rows += high(l, columns)
	}
	return rows
}

// high is the number of rows of a line that the terminal wraps.
func high(l cell.Line, columns int) int { return max(1, (l.Width()+columns-1)/max(1, columns)) }

// finish prints lines above the live area.
func (p *Painter) finish(lines, live []cell.Line) {
	p.again, p.inserted = nil, insertion{}
	if len(lines) == 0 {
		return
	}
	p.buried = p.buried.finished(lines, p)
	wraps := func(l cell.Line) bool { return l.MayWrap(p.columns) }
	if len(p.drawn) == 0 || len(lines)+len(p.drawn) >= p.rows || slices.ContainsFunc(lines, wraps) {
		p.move(Position{})
		p.eraseBelow()
		p.print(lines)
		p.drawn = nil
		return
	}
	n := p.promote(lines, live)
	p.inserted = insertion{lines, n}
	if n < len(lines) {
		p.insert(0, len(lines)-n)
		p.print(lines[n:])
		p.drawn = p.drawn[len(lines)-n:]
	}
}

// promote takes lines off the live area that are finished now, because they are the first of it. It returns their
// number.
func (p *Painter) promote(finished, live []cell.Line) int {
	n := 0
	for n < len(finished) && n < len(p.drawn) && slices.Equal(finished[n], p.drawn[n]) {
		n++
	}
	if n == len(p.drawn) && len(live) > 0 && n > 0 { // the cursor stays inside the live area
		n--
	}
	p.drawn = p.drawn[n:]
	p.at.Row -= n
	return n
}

// print writes finished lines from the cursor on. The terminal may wrap them.
func (p *Painter) print(lines []cell.Line) {
	p.move(Position{})
	p.wrap(true)
	tinted := func(s cell.Span) bool { return s.Style&(cell.Added|cell.Removed) != 0 }
	for _, l := range lines {
		p.out = l.Append(p.out, p.Colors)
		if slices.ContainsFunc(l, tinted) && l.Width() > p.columns && l.Width()%p.columns > 0 {
			// a row that scrolled in when the line wrapped has the background of the text
			p.out = append(p.out, "\x1b[K"...)
		}
		p.out = append(p.out, "\r\n"...)
	}
	p.at = Position{}
}

// redraw changes the live area to these lines. Rows that only moved are not written again.
func (p *Painter) redraw(live []cell.Line) {
	p.wrap(len(live) == 0)
	head := 0
	for head < len(live) && head < len(p.drawn) && slices.Equal(live[head], p.drawn[head]) {
		head++
	}
	tail := 0
	for tail < len(live)-head && tail < len(p.drawn)-head &&
		slices.Equal(live[len(live)-1-tail], p.drawn[len(p.drawn)-1-tail]) {
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
		} else if !slices.Equal(l, p.drawn[i]) {
			p.rewrite(i, l)
		}
	}
	if len(p.drawn) > len(live) { // rows that were the last
		p.move(Position{Row: len(live)})
		p.eraseBelow()
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
	joined := l.Joined() || old.Joined()
	// as a whole: tmux wraps the cells that CSI K erased from the middle of a row
	if joined || l.Width() < old.Width() {
		p.move(Position{Row: row})
		p.out = l.Append(append(p.out, "\x1b[K"...), p.Colors)
		if p.at.Column = l.Width(); joined { // or somewhere else
			p.out, p.at.Column = append(p.out, '\r'), 0
		}
		return
	}
	from, rest := l.After(old)
	p.move(Position{Row: row, Column: from})
	if from == p.columns { // it only became shorter by nothing visible
		return
	}
	p.out = rest.Append(p.out, p.Colors)
	p.at.Column = l.Width()
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
	case to.Row > p.at.Row: // not CSI B, which stops at the last row: the distance to the start must remain
		for range to.Row - p.at.Row {
			p.out = append(p.out, '\n')
		}
	}
	switch {
	case to.Column == p.at.Column && p.at.Column < p.columns && to.Row <= p.at.Row:
	case to.Column == 0:
		p.out = append(p.out, '\r')
	default:
		p.csi(to.Column+1, 'G')
	}
	p.at = to
}

// wrap switches whether the terminal wraps text at its right edge. In the live area it must not: if the terminal
// becomes narrower while a frame is on its way, each row still takes one row.
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

// eraseBelow erases everything from the cursor on, which is at the start of a row. It begins in the second cell: from
// the first cell of the screen, tmux would move the old rows to its scrollback instead.
func (p *Painter) eraseBelow() { p.out = append(p.out, "\x1b[K\x1b[C\x1b[J\r"...) }

// csi appends a control sequence with one number; none if the number is not positive.
func (p *Painter) csi(n int, final byte) {
	if n <= 0 {
		return
	}
	p.out = append(p.out, "\x1b["...)
	if n > 1 {
		p.out = strconv.AppendInt(p.out, int64(n), 10)
	}
	p.out = append(p.out, final)
}
