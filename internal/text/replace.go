package text

import (
	"fmt"
	"slices"
	"strings"
)

// Edit replaces the bytes Start to End (not included) of the shown text.
type Edit struct {
	Start, End int
	New        string
}

// Replace applies edits, all or none, and returns the document as it would be.
// Edits may come in any order and must not overlap. Everything outside them
// keeps its bytes, and so does what an edit leaves as it was inside. New lines
// take the line end of their place (\r\n in New counts as \n). A character that
// the encoding cannot hold is an *UnencodableError.
func (d *Document) Replace(edits ...Edit) (*Document, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.Start - b.Start })
	w := &writer{doc: d, body: d.body(), join: true}
	grown := 0
	for _, e := range edits {
		grown += len(e.New)
	}
	var want strings.Builder
	want.Grow(len(d.Text) + grown)
	w.out = make([]byte, 0, len(w.body)+2*grown)
	last := 0
	for _, e := range edits {
		if e.Start < last || e.End < e.Start || e.End > len(d.Text) {
			return nil, fmt.Errorf("edit of bytes %d to %d: outside the text or overlapping another edit", e.Start, e.End)
		}
		if err := w.keepTo(e.Start); err != nil {
			return nil, err
		}
		from := w.raw
		if err := w.skipTo(e.End); err != nil {
			return nil, err
		}
		if err := w.write(from, w.raw, joinLines(e.New)); err != nil {
			return nil, err
		}
		want.WriteString(d.Text[last:e.Start])
		want.WriteString(e.New)
		last = e.End
	}
	want.WriteString(d.Text[last:])
	return w.finish(append(w.out, w.body[w.raw:]...), want.String())
}
