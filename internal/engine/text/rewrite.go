package text

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/sorted"
)

// Rewrite replaces the whole content and returns the new document. Encoding and byte order mark stay. If content has
// \r\n its line endings are used unchanged; otherwise unchanged lines keep theirs and new ones get those of the lines
// nearby.
func (d *Document) Rewrite(content string) (*Document, error) {
	if d.BOM {
		content = strings.TrimPrefix(content, "\ufeff")
	}
	if d.plain && utf8.ValidString(content) {
		return d.withBody([]byte(content))
	}
	w := &writer{doc: d, body: d.body(), join: !strings.Contains(content, "\r\n")}
	if err := w.write(0, len(w.body), content); err != nil {
		return nil, err
	}
	return w.finish(w.out, content)
}

// joinLines replaces \r\n by \n. Every edit uses it: it takes one pass, and copies only if there is one.
func joinLines(s string) string {
	first := strings.Index(s, "\r\n")
	if first < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:first])
	for s = s[first+1:]; ; {
		cr := strings.IndexByte(s, '\r')
		if cr < 0 {
			b.WriteString(s)
			return b.String()
		}
		if strings.HasPrefix(s[cr+1:], "\n") {
			b.WriteString(s[:cr])
		} else {
			b.WriteString(s[:cr+1])
		}
		s = s[cr+1:]
	}
}

// LineEnds counts the line endings.
type LineEnds struct {
	LF, CRLF int
	CR       int  // single \r; they don't end a line here
	Last     bool // the last line has a line ending
}

// LineEnds counts the line endings as they are on disk.
func (d *Document) LineEnds() LineEnds {
	e := LineEnds{Last: strings.HasSuffix(d.Text, "\n")}
	var body []byte
	if !d.valid {
		body = d.body()
	}
	switch {
	case d.valid: // the text is the body without the \r of each \r\n
		e.CRLF = int(d.Size()) - len(d.mark()) - len(d.Text)
		e.LF = strings.Count(d.Text, "\n") - e.CRLF
		e.CR = strings.Count(d.Text, "\r")
	case d.Encoding.unit() == 1: // no character has \r or \n among its bytes
		e.CRLF = bytes.Count(body, crlf)
		e.LF = bytes.Count(body, crlf[1:]) - e.CRLF
		e.CR = bytes.Count(body, crlf[:1]) - e.CRLF
	default:
		for s := (scanner{codec: d.codec, rest: body, join: true}); s.next(); {
			switch {
			case s.r == '\r':
				e.CR++
			case s.r == '\n' && len(s.unit) > d.Encoding.unit():
				e.CRLF++
			case s.r == '\n':
				e.LF++
			}
		}
	}
	return e
}

// Describe describes what is unusual about the text on disk, for users: "gbk, CRLF line endings". For UTF-8 with LF it
// is "".
func (d *Document) Describe() string {
	return describe(d.Encoding, d.BOM, d.LineEnds())
}

// Describe describes what is unusual, as far as the lines of the excerpt show it.
func (e Excerpt) Describe() string {
	ends := LineEnds{LF: e.LF, CRLF: e.CRLF}
	return describe(e.Encoding, e.BOM, ends)
}

func describe(enc Encoding, marked bool, e LineEnds) string {
	var parts []string
	if enc != UTF8 {
		parts = append(parts, string(enc))
	}
	if marked {
		parts = append(parts, "byte order mark")
	}
	switch {
	case e.CRLF > 0 && e.LF > 0:
		parts = append(parts, "mixed line ends (LF and CRLF)")
	case e.CRLF > 0:
		parts = append(parts, "CRLF line ends")
	case e.CR > 0 && e.LF == 0:
		parts = append(parts, "CR line ends")
	}
	return strings.Join(parts, ", ")
}

// Edit replaces the bytes from Start up to but not including End of the shown text.
type Edit = edit.Span

// Replace applies edits, all or none, and returns the new document. Edits may be in any order and must not overlap.
// Everything outside them keeps its bytes, and so do unchanged parts inside them. New lines get the line ending of the
// lines nearby (\r\n in New counts as \n). A character that the encoding doesn't have is an *UnencodableError.
func (d *Document) Replace(edits ...Edit) (*Document, error) {
	edits = slices.Clone(edits)
	sorted.By(edits, func(a, b Edit) int { return a.Start - b.Start })
	if d.plain || d.crlf {
		return d.splice(edits)
	}
	w := &writer{doc: d, body: d.body(), join: true}
	grown := 0
	for _, e := range edits {
		grown += len(e.New)
	}
	w.out = make([]byte, 0, len(w.body)+2*grown)
	last := 0
	for _, e := range edits {
		if err := d.fits(e, last); err != nil {
			return nil, err
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
		last = e.End
	}
	body := append(w.out, w.body[w.raw:]...)
	if d.valid {
		return d.withBody(body)
	}
	return w.finish(body, edit.Splice("", d.Text, edits))
}

// fits reports an edit that is outside the text, or begins before the end of the last one.
func (d *Document) fits(e Edit, last int) error {
	if e.Start < last || e.End < e.Start || e.End > len(d.Text) {
		return fmt.Errorf("edit of bytes %d to %d: outside the text or overlapping another edit", e.Start, e.End)
	}
	return nil
}

// splice applies sorted edits to a text whose bytes on disk follow from it.
func (d *Document) splice(edits []Edit) (*Document, error) {
	last := 0
	for i, e := range edits {
		if err := d.fits(e, last); err != nil {
			return nil, err
		}
		if err := cmp.Or(d.betweenCharacters(e.Start), d.betweenCharacters(e.End)); err != nil {
			return nil, err
		}
		last = e.End
		edits[i].New = joinLines(strings.ToValidUTF8(e.New, "\uFFFD"))
	}
	if !d.crlf {
		text := edit.Splice(string(d.mark()), d.Text, edits)
		return decode(unsafe.Slice(unsafe.StringData(text), len(text)), d.Encoding, d.BOM)
	}
	return &Document{
		Text: edit.Splice("", d.Text, edits), Encoding: d.Encoding, BOM: d.BOM, codec: d.codec, valid: true, crlf: true,
	}, nil
}
