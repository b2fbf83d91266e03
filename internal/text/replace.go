package text

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
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
	var want strings.Builder
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
		want.WriteString(d.Text[last:e.Start] + e.New)
		last = e.End
	}
	want.WriteString(d.Text[last:])
	return w.finish(append(w.out, w.body[w.raw:]...), want.String())
}

// finish makes the new document and checks that it reads as meant. It would not
// where new characters join with an unknown byte beside them.
func (w *writer) finish(body []byte, want string) (*Document, error) {
	next, err := w.doc.withBody(body)
	if err != nil {
		return nil, err
	}
	if joinLines(next.Text) != joinLines(want) {
		return nil, fmt.Errorf("the change cannot be written in %s: it stands beside bytes that mean nothing in that encoding and would join with them; leave a character between", w.doc.Encoding)
	}
	return next, nil
}

// writer builds a new body beside the old one.
type writer struct {
	doc  *Document
	body []byte
	join bool // lines end in \n, whatever they end in on disk
	raw  int  // how far the old body was gone through
	text int  // the same in the shown text
	out  []byte
}

func (w *writer) keepTo(offset int) error {
	from := w.raw
	if err := w.skipTo(offset); err != nil {
		return err
	}
	w.out = append(w.out, w.body[from:w.raw]...)
	return nil
}

// skipTo goes on to an offset of the shown text.
func (w *writer) skipTo(offset int) error {
	if w.doc.plain {
		if offset < len(w.doc.Text) && !utf8.RuneStart(w.doc.Text[offset]) {
			return fmt.Errorf("edit at byte %d: that is inside a character", offset)
		}
		w.raw, w.text = offset, offset
		return nil
	}
	s := scanner{codec: w.doc.codec, rest: w.body[w.raw:], join: w.join}
	for w.text < offset {
		run := len(s.plainRun(w.doc.Encoding, offset-w.text))
		w.raw, w.text = w.raw+run, w.text+run
		if w.text == offset || !s.next() {
			break
		}
		w.raw += len(s.unit)
		w.text += utf8.RuneLen(s.r)
	}
	if w.text != offset {
		return fmt.Errorf("edit at byte %d: that is inside a character", offset)
	}
	return nil
}

// unit is one shown character with its bytes.
type unit struct {
	r   rune
	raw []byte
}

func (w *writer) units(from, to int) []unit {
	var out []unit
	for s := (scanner{codec: w.doc.codec, rest: w.body[from:to], join: w.join}); s.next(); {
		out = append(out, unit{s.r, s.unit})
	}
	return out
}

// write puts new text in the place of body[from:to]. Characters and lines that
// are the same before and after keep their bytes.
func (w *writer) write(from, to int, text string) error {
	old, now := w.units(from, to), []rune(text)
	head := 0
	for head < len(old) && head < len(now) && old[head].r == now[head] {
		w.out = append(w.out, old[head].raw...)
		head++
	}
	old, now = old[head:], now[head:]
	tail := 0
	for tail < len(old) && tail < len(now) && old[len(old)-1-tail].r == now[len(now)-1-tail] {
		tail++
	}
	kept := old[len(old)-tail:]
	old, now = old[:len(old)-tail], now[:len(now)-tail]

	oldLines, newLines := splitUnits(old), splitRunes(now)
	for _, h := range diffLines(oldLines, newLines) {
		if err := w.hunk(oldLines[h.oldFrom:h.oldTo], newLines[h.newFrom:h.newTo], to); err != nil {
			return err
		}
		for _, line := range oldLines[h.oldTo : h.oldTo+h.same] {
			for _, u := range line {
				w.out = append(w.out, u.raw...)
			}
		}
	}
	for _, u := range kept {
		w.out = append(w.out, u.raw...)
	}
	return nil
}

// hunk encodes changed lines. The n-th new line ends as the n-th old one did.
// Where as many unknown bytes are in the new text as were in the old, they are
// the same ones.
func (w *writer) hunk(old [][]unit, now [][]rune, to int) error {
	unknown, same := unknownUnits(old, now)
	near := sync.OnceValue(func() []byte { return w.nearEnd(to) })
	for i, line := range now {
		for _, r := range line {
			switch {
			case r == '\n' && w.join:
				w.out = append(w.out, w.lineEnd(old, i, near)...)
			case r == utf8.RuneError && same:
				w.out = append(w.out, unknown[0]...)
				unknown = unknown[1:]
			default:
				out, ok := w.doc.codec.encode(w.out, r)
				if !ok || r == utf8.RuneError && len(unknown) > 0 {
					return w.unencodable(r)
				}
				w.out = out
			}
		}
	}
	return nil
}

// unknownUnits collects what is shown as U+FFFD, and whether the new text has
// as many.
func unknownUnits(old [][]unit, now [][]rune) (unknown [][]byte, same bool) {
	for _, line := range old {
		for _, u := range line {
			if u.r == utf8.RuneError {
				unknown = append(unknown, u.raw)
			}
		}
	}
	n := 0
	for _, line := range now {
		for _, r := range line {
			if r == utf8.RuneError {
				n++
			}
		}
	}
	return unknown, n > 0 && n == len(unknown)
}

// lineEnd finds the end for the i-th new line of a hunk.
func (w *writer) lineEnd(old [][]unit, i int, near func() []byte) []byte {
	for j := min(i, len(old)-1); j >= 0; j-- {
		if line := old[j]; line[len(line)-1].r == '\n' {
			return line[len(line)-1].raw
		}
	}
	return near()
}

// nearEnd is the end of the line that the place stands in, else of the line
// before it, else a plain one.
func (w *writer) nearEnd(to int) []byte {
	for s := (scanner{codec: w.doc.codec, rest: w.body[to:], join: true}); s.next(); {
		if s.r == '\n' {
			return s.unit
		}
	}
	end, _ := w.doc.codec.encode(nil, '\n')
	for s := (scanner{codec: w.doc.codec, rest: w.body[:to], join: true}); s.next(); {
		if s.r == '\n' {
			end = s.unit
		}
	}
	return end
}

func (w *writer) unencodable(r rune) error {
	so, err := w.doc.withBody(w.out)
	if err != nil {
		return err
	}
	return &UnencodableError{Encoding: w.doc.Encoding, Char: r, At: PositionOf(so.Text, len(so.Text))}
}
