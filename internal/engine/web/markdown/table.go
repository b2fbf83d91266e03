package markdown

import (
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"
)

const (
	maxColumns = 60   // of a table; further cells are omitted
	maxRowSpan = 1000 // maximum rows that a cell may span
)

// table writes a data table as a table, and a layout table as its content.
func (c *conversion) table(n *node) {
	rows, caption := tableRows(n)
	data := c.isData(n, rows)
	c.out.separate(2)
	c.misplaced(n, data)
	if !data {
		c.out.separate(2)
		for _, row := range rows {
			c.block(row)
		}
		c.out.separate(2)
		return
	}
	c.out.separate(2)
	if caption != nil {
		c.block(caption)
		c.out.separate(2)
	}
	g := grid{c: c}
	for _, row := range rows {
		if c.stopped() || g.size > c.options.Limit { // more than can be written
			break
		}
		g.add(row)
	}
	g.write()
	c.out.separate(2)
}

// misplaced writes what is in a table but in none of its cells, before the table, as browsers show it. A layout
// table writes its rows whole.
func (c *conversion) misplaced(n *node, rows bool) {
	c.flow(n, c.paragraph, func(child *node) {
		switch child.DataAtom {
		case atom.Td, atom.Th, atom.Caption, atom.Colgroup:
		case atom.Tr, atom.Thead, atom.Tbody, atom.Tfoot:
			if (rows || child.DataAtom != atom.Tr) && !c.dropped(child) {
				c.misplaced(child, rows)
			}
		default:
			c.block(child)
		}
	})
	c.out.separate(2)
}

// tableRows returns the rows of a table, without those of nested tables.
func tableRows(n *node) (rows []*node, caption *node) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		switch child.DataAtom {
		case atom.Tr:
			rows = append(rows, child)
		case atom.Thead, atom.Tbody, atom.Tfoot:
			inner, _ := tableRows(child)
			rows = append(rows, inner...)
		case atom.Caption:
			caption = child
		}
	}
	return rows, caption
}

func (c *conversion) isData(n *node, rows []*node) bool {
	if n.has(layoutMark) {
		return false
	}
	wide := false
	for _, row := range rows {
		wide = wide || c.countCells(row) > 1
	}
	if !wide {
		return false
	}
	return find(n, func(d *node) bool {
		switch d.DataAtom {
		case atom.Pre:
			return strings.Contains(strings.TrimSpace(textOf(d)), "\n")
		case atom.Table, atom.Textarea, atom.H1, atom.H2, atom.H3, atom.H4, atom.Article, atom.Form, atom.Blockquote:
			return true
		}
		return false
	}) == nil
}

func (c *conversion) countCells(row *node) int {
	n := 0
	for cell := row.FirstChild; cell != nil; cell = cell.NextSibling {
		if (cell.DataAtom == atom.Td || cell.DataAtom == atom.Th) && !c.dropped(cell) {
			n++
		}
	}
	return n
}

// grid is the cells of a table in their columns.
type grid struct {
	c      *conversion
	rows   [][]string
	header bool             // the first row names the columns
	spans  [maxColumns]span // by column: cells of earlier rows that span into this one
	width  int
	size   int
}

type span struct {
	rows int
	text string
}

func (g *grid) add(row *node) {
	if g.c.dropped(row) {
		return
	}
	var cells []string
	names := true
	fill := func() { // columns of cells from above
		for len(cells) < maxColumns && g.spans[len(cells)].rows > 0 {
			s := &g.spans[len(cells)]
			s.rows--
			cells = append(cells, s.text)
		}
	}
	for cell := row.FirstChild; cell != nil; cell = cell.NextSibling {
		if cell.DataAtom != atom.Td && cell.DataAtom != atom.Th || g.c.dropped(cell) {
			continue
		}
		names = names && cell.DataAtom == atom.Th
		fill()
		text := g.cell(cell)
		down := spanOf(cell, "rowspan", maxRowSpan) - 1
		for i := range spanOf(cell, "colspan", maxColumns) {
			if len(cells) == maxColumns {
				break
			}
			if i > 0 {
				text = ""
			}
			if down > 0 {
				g.spans[len(cells)] = span{down, text}
			}
			cells = append(cells, text)
		}
	}
	fill()
	if strings.Join(cells, "") == "" {
		return
	}
	if len(g.rows) == 0 {
		g.header = names || row.Parent.DataAtom == atom.Thead
	}
	for i, s := range cells { // columns without content are omitted
		if s != "" {
			g.width = max(g.width, i+1)
		}
	}
	g.rows = append(g.rows, cells)
	for _, s := range cells {
		g.size += len(s) + 3
	}
}

func spanOf(cell *node, key string, limit int) int {
	n, err := strconv.Atoi(attr(cell, key))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, limit)
}

// cell returns the text of a cell in one line.
func (g *grid) cell(n *node) string {
	run := g.c.newRun()
	s := style(0)
	if n.DataAtom == atom.Th {
		s = bold
	}
	run.children(n, s)
	text := strings.ReplaceAll(run.String(), "\n", " ")
	if g.c.options.Plain {
		return text
	}
	return strings.ReplaceAll(text, "|", `\|`)
}

func (g *grid) write() {
	if len(g.rows) == 0 {
		return
	}
	out := &g.c.out
	if g.c.options.Plain {
		for _, row := range g.rows {
			out.write(strings.TrimRight(strings.Join(row, "\t"), "\t"))
		}
		return
	}
	rows := g.rows
	if !g.header {
		rows = append([][]string{make([]string, g.width)}, rows...)
	}
	for i, row := range rows {
		for len(row) < g.width {
			row = append(row, "")
		}
		out.write("| " + strings.Join(row[:g.width], " | ") + " |")
		if i == 0 {
			out.write("|" + strings.Repeat(" --- |", g.width))
		}
	}
}
