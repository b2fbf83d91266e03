// Package viewer shows a long text on a whole screen: it scrolls, searches, folds and copies.
//
//	v := viewer.New("diff", viewer.Text(func(width int) []cell.Line { … }))
//	lines, cursor := v.Frame(80, 24)
//	switch v.Key(k) { case viewer.Leave: … }
//
// It writes nothing and reads nothing. Only the items that are visible are made into lines.
package viewer

import (
	"cmp"

	"github.com/adze-dev/adze/internal/app/tui/cell"
)

// Source is what a view shows: items, one below the other. Items can be added at the end, and else don't change.
type Source interface {
	Len() int
	// Lines are the lines of an item. They need not fit in the width: the view wraps them.
	Lines(item, width int) []cell.Line
	// Has reports whether an item contains a text, which is in lower case.
	Has(item int, text string) Match
	// Fold folds or unfolds an item. It reports whether the item can be folded; with dry it only reports that.
	Fold(item int, dry bool) bool
	// Copy is the text of an item.
	Copy(item int) string
	// Prompt reports whether { and } stop at an item.
	Prompt(item int) bool
}

// Match says where an item contains a text.
type Match uint8

// Where a text is.
const (
	Nowhere Match = iota
	Shown         // perhaps: its lines must be searched
	Folded        // in a part that isn't shown
)

// Action is what the screen does after a key.
type Action uint8

// Actions.
const (
	Stay Action = iota
	Leave
	Copy // the text of [View.Selected]
)

// position is a row of an item.
type position struct{ item, row int }

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.item, q.item), cmp.Compare(p.row, q.row))
}

// row is a line of an item, or a part of it that fits in the width.
type row struct {
	line   cell.Line
	source int // index of the line
}

// View is a position in a source.
type View struct {
	Title  string
	Hint   string        // keys that are worth naming, for the last line
	Notice func() string // something that the last line must say; may be nil
	// Headings means that bold lines are headings: the last line shows the one that the first row is below.
	Headings bool

	source        Source
	width, height int // of the text
	top           position
	atEnd         bool // open at the end: the size isn't known yet

	rows map[int][]row // by item, in this width

	typing bool
	query  string // that is searched, in lower case
	typed  string
	hit    position // of the last search
	found  bool
	chosen int    // the item that Tab, { or } selected; -1: none
	note   string // until the next key
}

// New makes a view of a source, at its start.
func New(title string, s Source) *View {
	return &View{Title: title, source: s, rows: map[int][]row{}, chosen: -1}
}

// Source is what the view shows.
func (v *View) Source() Source { return v.source }

// End goes to the end.
func (v *View) End() { v.atEnd = true }

// maxRendered is how many items are kept as lines.
const maxRendered = 256

// of returns the rows of an item.
func (v *View) of(item int) []row {
	if r, ok := v.rows[item]; ok || item >= v.source.Len() {
		return r
	}
	if len(v.rows) > maxRendered {
		clear(v.rows)
	}
	var out []row
	for i, l := range v.source.Lines(item, v.width) {
		for _, part := range cell.Wrap(l, v.width, nil) {
			out = append(out, row{part, i})
		}
	}
	v.rows[item] = out
	return out
}

// Refresh forgets the lines of items from one on: they changed.
func (v *View) Refresh(from int) {
	for i := range v.rows {
		if i >= from {
			delete(v.rows, i)
		}
	}
}

// resize adapts to a size. The first visible line stays the first, and what was found stays visible.
func (v *View) resize(width, height int) {
	width, height = max(1, width), max(1, height)
	if v.width == 0 {
		v.width, v.height = width, height
	}
	if width == v.width && height == v.height {
		return
	}
	seen := v.found && v.visible(v.hit)
	if width != v.width {
		top, hit := v.of(v.top.item), v.of(v.hit.item)
		v.width = width
		clear(v.rows)
		v.top = v.again(v.top, top)
		v.hit = v.again(v.hit, hit)
	}
	v.height = height
	if seen {
		v.settle()
		v.show(v.hit)
	}
}

// again is where a place is in another width. Before are the rows of its item in the old one.
func (v *View) again(p position, before []row) position {
	after := v.of(p.item)
	if len(before) == 0 || len(after) == 0 {
		return position{item: p.item}
	}
	p.row = min(p.row, len(before)-1)
	source := before[p.row].source
	if before[len(before)-1].source != after[len(after)-1].source { // it has other lines at this width
		return position{p.item, p.row * len(after) / len(before)}
	}
	for i, r := range after {
		if r.source == source {
			return position{p.item, i}
		}
	}
	return p
}

// forward moves a place down by n rows, and stops after the last row.
func (v *View) forward(p position, n int) position {
	for p.item < v.source.Len() {
		if rows := len(v.of(p.item)); p.row+n < rows {
			return position{p.item, p.row + n}
		} else {
			n -= rows - p.row
		}
		p = position{item: p.item + 1}
	}
	return p
}

// back moves a place up by n rows, and stops at the first.
func (v *View) back(p position, n int) position {
	for n > p.row {
		if p.item == 0 {
			return position{}
		}
		n -= p.row
		p.item--
		p.row = len(v.of(p.item))
	}
	p.row -= n
	return p
}

// lowest is the last place that can be at the top.
func (v *View) lowest() position { return v.back(position{item: v.source.Len()}, v.height) }

// settle keeps the top between the start and the lowest place.
func (v *View) settle() {
	if low := v.lowest(); v.atEnd || v.top.compare(low) > 0 {
		v.top, v.atEnd = low, false
	}
}

// page is how far PgDn goes: two rows stay.
func (v *View) page() int { return max(1, v.height-2) }

// visible reports whether a place is on the screen.
func (v *View) visible(p position) bool {
	return p.compare(v.top) >= 0 && p.compare(v.forward(v.top, v.height)) < 0
}

// show scrolls to a place, unless it is visible: then it is in the upper third.
func (v *View) show(p position) {
	if !v.visible(p) {
		v.top = v.back(p, v.height/3)
		v.settle()
	}
}

// Selected is the item that Enter and y are about: the one that Tab selected, the one that was found, or the first one
// on the screen, for Enter the first one that can be folded. -1 means none.
func (v *View) Selected(foldable bool) int {
	fits := func(item int) bool { return !foldable || v.source.Fold(item, true) }
	end := v.forward(v.top, v.height)
	onScreen := func(item int) bool { return item >= v.top.item && position{item: item}.compare(end) < 0 }
	if v.chosen >= 0 && onScreen(v.chosen) && fits(v.chosen) {
		return v.chosen
	}
	if v.found && onScreen(v.hit.item) && fits(v.hit.item) {
		return v.hit.item
	}
	for item := v.top.item; item < v.source.Len() && onScreen(item); item++ {
		if len(v.of(item)) > 0 && fits(item) {
			return item
		}
	}
	return -1
}

// Text is a source of one item.
type Text func(width int) []cell.Line

// Len is 1.
func (Text) Len() int { return 1 }

// Lines are the lines of the text.
func (t Text) Lines(_, width int) []cell.Line { return t(width) }

// Has lets the view search the lines.
func (Text) Has(int, string) Match { return Shown }

// Fold folds nothing.
func (Text) Fold(int, bool) bool { return false }

// Copy is the text as it is shown in a wide screen.
func (t Text) Copy(int) string {
	out := ""
	for _, l := range t(1000) {
		out += l.String() + "\n"
	}
	return out
}

// Prompt is false.
func (Text) Prompt(int) bool { return false }
