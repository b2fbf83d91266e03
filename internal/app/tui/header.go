package tui

import (
	"fmt"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// Row is a row of what a conversation starts with.
type Row struct {
	Label string // "": that of the row above
	Text  string
	Hint  string // at the right edge: a command
}

// headerIndent is the width of labels.
const headerIndent = 9

// endHeader prints the header, once: its first row, what was found, and the others.
func (s *Screen) endHeader(found []Row) {
	if len(s.header) == 0 {
		if s.awaiting && len(found) > 0 { // a prompt was faster
			s.awaiting = false
			s.print(headerLines(append([]Row{{}}, found...), s.width())[1:]...)
		}
		return
	}
	s.awaiting = found == nil && s.o.Lookup != nil
	head := s.header
	s.header = nil
	rows := append(append(append([]Row{}, head[0]), found...), head[1:]...)
	s.print(headerLines(rows, s.width())...)
	s.space()
	s.showEarlier(s.o.Earlier)
	s.o.Earlier = nil
}

// headerLines are rows as lines. Texts wrap beside their labels.
func headerLines(rows []Row, width int) []cell.Line {
	var out []cell.Line
	for i, r := range rows {
		style := cell.Dim
		if i == 0 {
			style = cell.Bold
		}
		l := cell.Line{{Text: fmt.Sprintf("%-*s", headerIndent, r.Label), Style: style}, {Text: cell.Clean(r.Text)}}
		hint := cell.Styled(cell.Clean(r.Hint), cell.Cyan)
		if r.Hint != "" && l.Width()+hint.Width()+2 <= width {
			out = append(out, l.Right(hint, width))
			continue
		}
		if r.Hint != "" {
			l[1].Text += "  "
			l = append(l, hint...)
		}
		out = append(out, cell.Wrap(l, width, cell.Text(fmt.Sprintf("%*s", headerIndent, "")))...)
	}
	return out
}
