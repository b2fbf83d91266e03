package paint

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// buried are the lines from the first row of an old live area that the terminal scrolled away, because it became
// smaller than the area, to the current one. Nothing can erase rows in the scrollback. When the terminal is enlarged,
// most terminals show them again; then they are erased, and the finished lines among them are printed again.
type buried []past

// past is a line above the live area.
type past struct {
	line  cell.Line // if it is a finished one
	stale bool      // it is a part of an old live area
	cells int       // how wide it is
	rows  int       // how many it keeps, if the terminal doesn't wrap it again; 0: that depends on the width
}

// maxBuried is how many lines are printed again at most.
const maxBuried = 200

// high is the number of rows of the line.
func (l past) high(columns int) int {
	if l.rows > 0 {
		return l.rows
	}
	return max(1, (l.cells+columns-1)/max(1, columns))
}

// lostCursor reports whether a cursor in the first cell of the screen isn't at its text. If more rows are below the
// cursor than the screen has, tmux shows the last ones, and puts the cursor there.
func (p *Painter) lostCursor(columns int) bool {
	return !p.KeepsRows && columns < p.columns && p.at.Column%max(1, columns) != 0
}

// high is the number of rows of the live area if the terminal has become this wide.
func (p *Painter) high(columns int) int {
	n := 0
	for _, l := range p.drawn {
		n += high(l.Cut(p.columns), columns)
	}
	return n
}

// bury notes that the first rows of the live area, which the terminal wraps at this width, have scrolled away.
func (p *Painter) bury(rows, columns int) {
	for _, l := range p.drawn {
		if rows <= 0 {
			return
		}
		gone := past{stale: true, cells: l.Cut(p.columns).Width()}
		if p.KeepsRows {
			gone.rows = 1
		}
		if n := gone.high(columns); n > rows {
			gone.cells = rows * columns
		}
		rows -= gone.high(columns)
		p.buried = append(p.buried, gone)
	}
}

// finished adds lines that were printed below. Too many, or one that terminals may wrap in different ways, aren't
// printed again.
func (b buried) finished(lines []cell.Line, p *Painter) buried {
	if len(b) == 0 || len(b)+len(lines) > maxBuried || slices.ContainsFunc(lines, p.uncertain) {
		return nil
	}
	for _, l := range lines {
		done := past{line: l, cells: l.Width()}
		if p.KeepsRows {
			done.rows = high(l, p.columns)
		}
		b = append(b, done)
	}
	return b
}

// uncertain reports whether it isn't known how many rows a line takes: it may be wrapped, and has characters that
// terminals wrap in different ways.
func (p *Painter) uncertain(l cell.Line) bool {
	return l.MayWrap(p.columns) &&
		slices.ContainsFunc(l, func(s cell.Span) bool { return strings.ContainsFunc(s.Text, oddWidth) })
}

// oddWidth reports whether a character may take other than one cell. Punctuation, such as quotes and dashes, takes one.
func oddWidth(r rune) bool { return r >= 0x300 && (r < 0x2010 || r > 0x2027) }

// unearth takes the lines that are in the last rows above the live area, from the first stale one on. It returns how
// many rows that is, and the finished lines among them.
func (b buried) unearth(rows, columns int) (rest buried, taken int, lines []cell.Line) {
	from, all := len(b), 0
	for i := len(b) - 1; i >= 0; i-- {
		l := b[i]
		n := l.high(columns)
		if !l.stale && all+n > rows {
			break
		}
		if l.stale && all+n > rows { // its last rows
			if left := all + n - rows; rows > all {
				b = slices.Clone(b)
				b[i].cells = left * columns
				from, taken = i+1, rows
			}
			break
		}
		all += n
		if l.stale {
			from, taken = i, all
		}
	}
	for _, l := range b[from:] {
		if !l.stale {
			lines = append(lines, l.line)
		}
	}
	return b[:from:from], taken, lines
}
