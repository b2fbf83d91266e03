package text

import (
	"bytes"
	"context"
	"hash"
	"io"
	"strings"
	"unicode/utf8"
)

// Window selects the lines of a file to read, and how much of them.
type Window struct {
	First int // counted from 1; 0 is 1
	Last  int // included; 0 is the last line

	MaxLine int // maximum characters of one line; 0 is 2,000
	// maximum bytes of text; 0 is 1 MB. A line that doesn't fit is omitted, but one line is always shown
	MaxBytes int
	CutMark  string // inserted where a long line was cut

	Hash hash.Hash // if set, the whole content is written to it
}

// Excerpt is some lines of a file.
type Excerpt struct {
	Text        string // with \n line endings
	First, Last int    // the lines in Text; Last < First if there are none
	Total       int    // lines of the file
	CutLines    []int  // numbers of the lines that were cut
	Full        bool   // MaxBytes was reached before the last selected line
	Encoding    Encoding
	BOM         bool
	LF, CRLF    int // line endings of the lines in Text
}

// ReadLines reads lines of a file of any size in one pass and bounded memory. The encoding is guessed from samples; for
// content that isn't text the error is ErrBinary.
func ReadLines(ctx context.Context, r io.ReaderAt, size int64, w Window) (Excerpt, error) {
	enc, err := detectSamples(r, size)
	if err != nil {
		return Excerpt{}, err
	}
	c, err := enc.codec()
	if err != nil {
		return Excerpt{}, err
	}
	l := &lineReader{window: w.withDefaults(), codec: c, unit: enc.unit(), line: 1}
	l.out.Encoding = enc
	l.out.First = l.window.First
	l.out.Last = l.window.First - 1
	l.newline, _ = c.encode(nil, '\n')

	buf := make([]byte, 1<<20)
	for off := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return Excerpt{}, err
		}
		n, err := r.ReadAt(buf, off)
		if err != nil && err != io.EOF {
			return Excerpt{}, err
		}
		chunk := buf[:n]
		if w.Hash != nil {
			w.Hash.Write(chunk)
		}
		if off == 0 && enc.mark() != nil && bytes.HasPrefix(chunk, enc.mark()) {
			l.out.BOM = true
			chunk = chunk[len(enc.mark()):]
		}
		l.feed(chunk)
		off += int64(n)
		if err == io.EOF || n == 0 {
			return l.finish(), nil
		}
	}
}

func (w Window) withDefaults() Window {
	w.First = max(w.First, 1)
	if w.Last <= 0 {
		w.Last = int(^uint(0) >> 1)
	}
	if w.MaxLine <= 0 {
		w.MaxLine = 2000
	}
	if w.MaxBytes <= 0 {
		w.MaxBytes = 1 << 20
	}
	return w
}

// lineReader takes a file's bytes in pieces.
type lineReader struct {
	window  Window
	codec   codec
	unit    int
	newline []byte
	line    int    // number of the line being read
	begun   bool   // it has bytes
	odd     []byte // half a UTF-16 unit from the last piece
	kept    []byte // the current line, up to the length that can be shown
	text    strings.Builder
	out     Excerpt
}

func (l *lineReader) wanted() bool {
	return l.line >= l.window.First && l.line <= l.window.Last && !l.out.Full
}

func (l *lineReader) feed(chunk []byte) {
	if l.unit == 2 {
		if len(l.odd) > 0 {
			chunk = append(l.odd, chunk...)
			l.odd = nil
		}
		if len(chunk)%2 != 0 {
			l.odd = []byte{chunk[len(chunk)-1]}
			chunk = chunk[:len(chunk)-1]
		}
	}
	if l.before(chunk) {
		l.count(chunk)
		return
	}
	for len(chunk) > 0 {
		if l.line > l.window.Last || l.out.Full {
			l.count(chunk)
			return
		}
		end := l.index(chunk)
		piece, done := chunk, false
		if end >= 0 {
			piece, done = chunk[:end+l.unit], true
		}
		if l.wanted() {
			l.keep(piece)
		}
		l.begun = true
		chunk = chunk[len(piece):]
		if done {
			l.endLine()
		}
	}
}

// before reports whether the chunk ends before the first selected line.
func (l *lineReader) before(chunk []byte) bool {
	return l.unit == 1 && len(chunk) > 0 && l.line+bytes.Count(chunk, l.newline) < l.window.First
}

// index finds the next line ending.
func (l *lineReader) index(b []byte) int {
	if l.unit == 1 {
		return bytes.IndexByte(b, '\n')
	}
	for at := 0; ; {
		i := bytes.Index(b[at:], l.newline)
		if i < 0 || (at+i)%2 == 0 {
			if i >= 0 {
				i += at
			}
			return i
		}
		at += i + 1
	}
}

// count continues when only the number of lines is needed.
func (l *lineReader) count(b []byte) {
	if l.unit == 1 {
		l.line += bytes.Count(b, l.newline)
		l.begun = b[len(b)-1] != '\n'
		return
	}
	for {
		i := l.index(b)
		if i < 0 {
			l.begun = len(b) > 0
			return
		}
		l.line++
		b = b[i+2:]
	}
}

// keep stores a piece of a selected line, up to the length that can be shown.
func (l *lineReader) keep(piece []byte) {
	limit := 4*l.window.MaxLine + 8 - len(l.kept)
	if len(piece) > limit {
		// The line ending is stored with the start of the line.
		piece = piece[:max(limit, 0)]
	}
	l.kept = append(l.kept, piece...)
}

// endLine adds the line that ends here, if it is selected.
func (l *lineReader) endLine() {
	if l.wanted() {
		l.show()
	}
	l.line++
	l.begun = false
}

func (l *lineReader) show() {
	var b strings.Builder
	chars, cut := 0, false
	lf, crlf := 0, 0
	for s := (scanner{codec: l.codec, rest: l.kept, join: true}); s.next(); chars++ {
		if s.r == '\n' {
			if len(s.unit) > l.unit {
				crlf = 1
			} else {
				lf = 1
			}
			break
		}
		if chars == l.window.MaxLine {
			cut = true
			break
		}
		b.WriteRune(s.r)
	}
	l.kept = l.kept[:0]
	if cut {
		b.WriteString(l.window.CutMark)
	}
	b.WriteByte('\n')
	if l.text.Len() > 0 && l.text.Len()+b.Len() > l.window.MaxBytes {
		l.out.Full = true
		return
	}
	if cut {
		l.out.CutLines = append(l.out.CutLines, l.line)
	}
	l.out.LF, l.out.CRLF = l.out.LF+lf, l.out.CRLF+crlf
	l.text.WriteString(b.String())
	l.out.Last = l.line
}

func (l *lineReader) finish() Excerpt {
	if len(l.odd) > 0 {
		if l.wanted() {
			l.keep(l.odd)
		}
		l.begun = true
	}
	l.out.Total = l.line - 1
	if l.begun {
		l.out.Total = l.line
		if l.wanted() {
			l.show()
			if l.out.Last == l.line { // the last line has no line ending
				l.out.Text = strings.TrimSuffix(l.text.String(), "\n")
				return l.out
			}
		}
	}
	l.out.Text = l.text.String()
	return l.out
}

// detectSamples guesses the encoding from the start and a few positions further on.
func detectSamples(r io.ReaderAt, size int64) (Encoding, error) {
	const part = 64 << 10
	if size <= 4*part {
		all := make([]byte, 4*part) // files in /proc have content but no size
		n, err := r.ReadAt(all, 0)
		if err != nil && err != io.EOF {
			return "", err
		}
		return Detect(all[:n])
	}
	var samples []byte
	for i := range int64(4) {
		buf := make([]byte, part)
		at := i * (size - part) / 3 &^ 1
		n, err := r.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return "", err
		}
		samples = append(samples, wholeCharacters(buf[:n], i > 0)...)
	}
	return Detect(samples)
}

// wholeCharacters cuts a sample at line endings, or for UTF-8 at least between characters.
func wholeCharacters(b []byte, cutStart bool) []byte {
	if bytes.IndexByte(b, 0) >= 0 {
		return b[:len(b)&^1]
	}
	if i := bytes.IndexByte(b, '\n'); cutStart && i >= 0 {
		b = b[i+1:]
	}
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		return b[:i+1]
	}
	for cutStart && len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				b = b[:len(b)-n]
			}
			break
		}
	}
	return b
}
