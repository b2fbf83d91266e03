// Package text decodes text and writes changes back without altering any other byte: encoding, byte order mark, each
// line ending, a missing last line ending, and invalid bytes are preserved.
//
//	doc, err := text.Decode(content)       // doc.Text has \n line endings
//	next, err := doc.Replace(text.Edit{Start: 4, End: 9, New: "there"})
//	os.WriteFile(name, next.Bytes(), 0o644)
//
// A document keeps its original bytes; a change inserts new bytes and encodes nothing else. So even a wrongly guessed
// encoding loses nothing. The package opens no files and knows no tools.
package text

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// ErrBinary reports that the content is not text.
var ErrBinary = errors.New("the content is binary, not text")

// Document is text with its original bytes. It is immutable.
type Document struct {
	// Text is the shown text: line endings are \n (a single \r stays in its line), there is no byte order mark, and an
	// invalid byte is U+FFFD.
	Text     string
	Encoding Encoding
	BOM      bool

	raw   []byte // everything, including the mark; nil if crlf
	codec codec
	valid bool // raw is valid UTF-8
	plain bool // and Text is the same bytes, after the mark, in the same memory
	crlf  bool // or Text has \n for each \r\n, and there is no other \n
}

// Decode guesses the encoding and decodes. For content that isn't text the error is ErrBinary. The content must not be
// changed afterwards.
func Decode(content []byte) (*Document, error) {
	enc, err := Detect(content)
	if err != nil {
		return nil, err
	}
	return DecodeAs(content, enc)
}

// DecodeAs decodes in a known encoding. A byte order mark of that encoding is recognized.
func DecodeAs(content []byte, enc Encoding) (*Document, error) {
	mark := enc.mark()
	return decode(content, enc, mark != nil && bytes.HasPrefix(content, mark))
}

func decode(content []byte, enc Encoding, marked bool) (*Document, error) {
	c, err := enc.codec()
	if err != nil {
		return nil, err
	}
	d := &Document{Encoding: enc, BOM: marked, raw: content, codec: c}
	body := d.body()
	if enc == UTF8 && utf8.Valid(body) {
		d.Text, d.valid = joinLines(unsafe.String(unsafe.SliceData(body), len(body))), true
		joined := len(body) - len(d.Text)
		d.plain = joined == 0
		if d.crlf = joined > 0 && strings.Count(d.Text, "\n") == joined; d.crlf {
			d.raw = nil // so that a large file isn't in memory twice
		}
		return d, nil
	}
	var b strings.Builder
	b.Grow(len(body))
	s := scanner{codec: c, rest: body, join: true}
	for {
		b.Write(s.plainRun(enc))
		if !s.next() {
			break
		}
		b.WriteRune(s.r)
	}
	d.Text = b.String()
	return d, nil
}

// Size returns the length of the content for the disk.
func (d *Document) Size() int64 {
	if !d.crlf {
		return int64(len(d.raw))
	}
	return int64(len(d.mark()) + len(d.Text) + strings.Count(d.Text, "\n"))
}

// WriteTo writes the content for the disk. After an error the number of bytes isn't known.
func (d *Document) WriteTo(w io.Writer) (n int64, err error) {
	if !d.crlf {
		k, err := w.Write(d.raw)
		return int64(k), err
	}
	b := bufio.NewWriter(w)
	b.Write(d.mark())
	for rest := d.Text; ; {
		line, after, more := strings.Cut(rest, "\n")
		b.WriteString(line)
		if !more {
			return d.Size(), b.Flush()
		}
		b.Write(crlf)
		rest = after
	}
}

// Bytes returns the content for the disk. It must not be changed.
func (d *Document) Bytes() []byte {
	if !d.crlf {
		return d.raw
	}
	var b bytes.Buffer
	b.Grow(int(d.Size()))
	d.WriteTo(&b)
	return b.Bytes()
}

// Raw returns the content for the disk if it is in memory as it is; otherwise nil. It must not be changed.
func (d *Document) Raw() []byte { return d.raw }

// mark returns the byte order mark that the content has.
func (d *Document) mark() []byte {
	if d.BOM {
		return d.Encoding.mark()
	}
	return nil
}

// body returns the content after the mark.
func (d *Document) body() []byte { return d.Bytes()[len(d.mark()):] }

// withBody returns the same document with another body, which must not be changed afterwards.
func (d *Document) withBody(body []byte) (*Document, error) {
	if d.BOM {
		body = append(d.Encoding.mark(), body...)
	}
	return decode(body, d.Encoding, d.BOM)
}

// Lines counts the lines of shown text. A last line without a line ending counts; the empty text after a last line
// ending doesn't.
func Lines(shown string) int {
	n := strings.Count(shown, "\n")
	if shown != "" && !strings.HasSuffix(shown, "\n") {
		n++
	}
	return n
}

// Position is a position in shown text, both counted from 1; columns are characters.
type Position struct{ Line, Column int }

// PositionOf returns the position of a byte offset in shown text.
func PositionOf(shown string, offset int) Position {
	before := shown[:min(max(offset, 0), len(shown))]
	start := strings.LastIndexByte(before, '\n') + 1
	return Position{Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[start:]) + 1}
}

// UnencodableError reports a character in new text that the file's encoding doesn't have. Nothing was changed.
type UnencodableError struct {
	Encoding Encoding
	Char     rune
	At       Position // in the new text
}

func (e *UnencodableError) Error() string {
	if e.Char == utf8.RuneError {
		return fmt.Sprintf("line %d, column %d: U+FFFD replaces a byte that isn't valid %s, and it is not clear "+
			"which one. Exclude that part of the line from the change",
			e.At.Line, e.At.Column, e.Encoding)
	}
	return fmt.Sprintf("line %d, column %d: the character %q (U+%04X) cannot be written in the file's encoding %s",
		e.At.Line, e.At.Column, e.Char, e.Char, e.Encoding)
}
