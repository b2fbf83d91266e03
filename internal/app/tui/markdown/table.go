package markdown

import (
	"strings"

	east "github.com/yuin/goldmark/extension/ast"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// gap is between the columns of a table.
const gap = "  "

// table shows rows in columns. If they don't fit, cells are wrapped; if columns become too narrow for that, each row is
// shown as a list of its cells.
func (r *renderer) table(t *east.Table) []cell.Line {
	var rows [][]cell.Line
	for n := t.FirstChild(); n != nil; n = n.NextSibling() {
		style := cell.Plain
		if n.Kind() == east.KindTableHeader {
			style = cell.Bold
		}
		var row []cell.Line
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			row = append(row, joined(r.inline(c, style)))
		}
		rows = append(rows, row)
	}
	widths := widths(rows)
	if !shrink(widths, r.width-len(gap)*(len(widths)-1)) {
		return r.tableAsList(rows)
	}
	var out []cell.Line
	for i, row := range rows {
		out = append(out, tableRow(row, widths, t.Alignments)...)
		if i == 0 {
			var rule cell.Line
			for j, w := range widths {
				if j > 0 {
					rule = append(rule, cell.Span{Text: gap})
				}
				rule = append(rule, cell.Span{Text: strings.Repeat("─", w), Style: cell.Dim})
			}
			out = append(out, rule)
		}
	}
	return out
}

func joined(lines []cell.Line) cell.Line {
	var out cell.Line
	for i, l := range lines {
		if i > 0 {
			out = append(out, cell.Span{Text: " "})
		}
		out = append(out, l...)
	}
	return out
}

func widths(rows [][]cell.Line) []int {
	var out []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(out) {
				out = append(out, 1)
			}
			out[i] = max(out[i], c.Width())
		}
	}
	return out
}

// minColumn is the narrowest that a column is made.
const minColumn = 6

// shrink takes cells off the widest columns until all fit. It reports whether they do.
func shrink(widths []int, total int) bool {
	sum := 0
	for _, w := range widths {
		sum += w
	}
	for sum > total {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if len(widths) == 0 || widths[widest] <= minColumn {
			return false
		}
		widths[widest]--
		sum--
	}
	return true
}

// tableRow is a row of a table, of several lines if a cell is wrapped.
func tableRow(row []cell.Line, widths []int, align []east.Alignment) []cell.Line {
	cells := make([][]cell.Line, len(row))
	high := 1
	for i, c := range row {
		cells[i] = cell.Wrap(c, widths[i], nil)
		high = max(high, len(cells[i]))
	}
	out := make([]cell.Line, high)
	for y := range out {
		for i := range row {
			if i > 0 {
				out[y] = append(out[y], cell.Span{Text: gap})
			}
			var c cell.Line
			if y < len(cells[i]) {
				c = cells[i][y]
			}
			left, right := 0, widths[i]-c.Width()
			if i < len(align) && align[i] == east.AlignRight {
				left, right = right, 0
			}
			if i < len(align) && align[i] == east.AlignCenter {
				left, right = right/2, right-right/2
			}
			out[y] = append(out[y], cell.Span{Text: strings.Repeat(" ", left)})
			out[y] = append(out[y], c...)
			if i < len(row)-1 {
				out[y] = append(out[y], cell.Span{Text: strings.Repeat(" ", right)})
			}
		}
		out[y] = compact(out[y])
	}
	return out
}

// compact removes empty spans.
func compact(l cell.Line) cell.Line {
	var out cell.Line
	for _, s := range l {
		if s.Text != "" {
			out = append(out, s)
		}
	}
	return out.Trim()
}

// tableAsList shows each row as lines of "column: cell".
func (r *renderer) tableAsList(rows [][]cell.Line) []cell.Line {
	var out []cell.Line
	if len(rows) == 0 {
		return nil
	}
	for i, row := range rows[1:] {
		if i > 0 {
			out = append(out, nil)
		}
		for j, c := range row {
			l := c
			if j < len(rows[0]) {
				l = append(append(append(cell.Line{}, rows[0][j]...), cell.Span{Text: ": "}), c...)
			}
			out = append(out, cell.Wrap(l, r.width, cell.Text("  "))...)
		}
	}
	return out
}
