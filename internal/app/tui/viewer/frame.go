package viewer

import (
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// Frame is what a screen of this size shows. The cursor is in the last line, or hidden if it is below 0.
func (v *View) Frame(columns, rows int) (lines []cell.Line, cursor int) {
	v.resize(columns, rows-1)
	v.settle()
	p := v.top
	for len(lines) < rows-1 && p.item < v.source.Len() {
		item := v.of(p.item)
		for ; p.row < len(item) && len(lines) < rows-1; p.row++ {
			lines = append(lines, v.paint(p, item[p.row]))
		}
		p = position{item: p.item + 1}
	}
	for len(lines) < rows-1 {
		lines = append(lines, nil)
	}
	last, cursor := v.status(columns)
	return append(lines, last), cursor
}

// paint is a row with what was found in it.
func (v *View) paint(p position, r row) cell.Line {
	l := r.line
	if v.found && p == v.hit && v.at(r) < 0 { // in a folded part
		return l.Mark(0, len(l.String()), cell.Reverse)
	}
	if v.chosen == p.item && p.row == v.head(p.item) {
		return l.Mark(0, len(l.String()), cell.Reverse)
	}
	if v.query == "" || v.typing {
		return l
	}
	text := l.String()
	for from := 0; ; {
		i := index(text, v.query, from)
		if i < 0 {
			return l
		}
		from = i + len(v.query)
		l = l.Mark(i, from, cell.Reverse)
	}
}

// status is the last line: what is typed, or where the view is and which keys there are.
func (v *View) status(width int) (cell.Line, int) {
	if v.typing {
		l := cell.Line{{Text: "/", Style: cell.Cyan}, {Text: cell.Clean(v.typed)}}
		for l.Width() >= width && len(l[1].Text) > 0 { // the end of it is visible
			l[1].Text = string([]rune(l[1].Text)[1:])
		}
		return l, l.Width()
	}
	line := cell.Line{{Text: " " + v.heading(), Style: cell.Bold}, {Text: " · " + v.where(), Style: cell.Dim}}
	switch {
	case v.note != "":
		return line.Right(cell.Styled(cell.Clean(v.note), cell.Yellow), width), -1
	case v.Notice != nil && v.Notice() != "":
		return line.Right(cell.Styled(cell.Clean(v.Notice()), cell.Yellow), width), -1
	}
	right := cell.Styled(v.Hint, cell.Dim)
	if line.Width()+right.Width()+2 > width {
		right = cell.Styled("q closes", cell.Dim)
	}
	return line.Right(right, width), -1
}

// heading is the title, or the heading that the first row is below.
func (v *View) heading() string {
	if !v.Headings {
		return v.Title
	}
	rows := v.of(v.top.item)
	for i := min(v.top.row, len(rows)-1); i >= 0; i-- {
		if l := rows[i].line; len(l) == 1 && l[0].Style == cell.Bold {
			return strings.TrimSpace(l[0].Text)
		}
	}
	return v.Title
}

// where is the position: in lines of a text, else in items.
func (v *View) where() string {
	n := v.source.Len()
	if n != 1 {
		last := v.back(v.forward(v.top, v.height), 1)
		return fmt.Sprintf("%d of %d", min(last.item+1, n), n)
	}
	all := len(v.of(0))
	return fmt.Sprintf("lines %d-%d of %d", min(v.top.row+1, all), min(v.top.row+v.height, all), all)
}
