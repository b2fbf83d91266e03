package search

import (
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// wideReader turns UTF-16 into UTF-8 as it is read.
type wideReader struct {
	r     io.Reader
	order binary.ByteOrder
	raw   []byte // read and not yet turned
	buf   []byte
	err   error
}

// wideEncoding tells by its mark whether a text is UTF-16.
func wideEncoding(head []byte) (order binary.ByteOrder, name string) {
	if len(head) < 2 {
		return nil, ""
	}
	switch {
	case head[0] == 0xff && head[1] == 0xfe:
		return binary.LittleEndian, "utf-16le"
	case head[0] == 0xfe && head[1] == 0xff:
		return binary.BigEndian, "utf-16be"
	}
	return nil, ""
}

// newWideReader reads a text whose beginning, without the mark, was read already.
func newWideReader(head []byte, r io.Reader, order binary.ByteOrder) *wideReader {
	return &wideReader{r: r, order: order, raw: append([]byte(nil), head...), buf: make([]byte, 32<<10)}
}

func (w *wideReader) Read(p []byte) (int, error) {
	for len(w.raw) < 4 && w.err == nil {
		n, err := w.r.Read(w.buf)
		w.raw, w.err = append(w.raw, w.buf[:n]...), err
	}
	if len(w.raw) == 0 {
		return 0, w.err
	}
	n := 0
	for len(w.raw) > 0 && n+utf8.UTFMax <= len(p) {
		if len(w.raw) < 4 && w.err == nil {
			break // a surrogate may be cut in two
		}
		r, size := w.rune()
		n += utf8.EncodeRune(p[n:], r)
		w.raw = w.raw[size:]
	}
	return n, nil
}

// rune reads one character from w.raw, which is not empty. Half a pair, or half a unit at the end, is U+FFFD.
func (w *wideReader) rune() (rune, int) {
	if len(w.raw) < 2 {
		return utf8.RuneError, 1
	}
	r := rune(w.order.Uint16(w.raw))
	if !utf16.IsSurrogate(r) {
		return r, 2
	}
	if len(w.raw) >= 4 {
		if pair := utf16.DecodeRune(r, rune(w.order.Uint16(w.raw[2:]))); pair != utf8.RuneError {
			return pair, 4
		}
	}
	return utf8.RuneError, 2
}
