package text

import (
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

type utf8Codec struct{}

func (utf8Codec) decode(b []byte) (rune, int, bool) {
	r, n := utf8.DecodeRune(b)
	return r, n, r != utf8.RuneError || n > 1
}

func (utf8Codec) encode(dst []byte, r rune) ([]byte, bool) {
	return utf8.AppendRune(dst, r), utf8.ValidRune(r)
}

type utf16Codec struct{ big bool }

func (c utf16Codec) unit(b []byte) rune {
	if c.big {
		return rune(b[0])<<8 | rune(b[1])
	}
	return rune(b[1])<<8 | rune(b[0])
}

func (c utf16Codec) decode(b []byte) (rune, int, bool) {
	if len(b) < 2 {
		return utf8.RuneError, 1, false
	}
	r := c.unit(b)
	if !utf16.IsSurrogate(r) {
		return r, 2, true
	}
	if len(b) >= 4 {
		if pair := utf16.DecodeRune(r, c.unit(b[2:])); pair != utf8.RuneError {
			return pair, 4, true
		}
	}
	return utf8.RuneError, 2, false
}

func (c utf16Codec) encode(dst []byte, r rune) ([]byte, bool) {
	if !utf8.ValidRune(r) {
		return dst, false
	}
	for _, u := range utf16.AppendRune(nil, r) {
		if c.big {
			dst = append(dst, byte(u>>8), byte(u))
		} else {
			dst = append(dst, byte(u), byte(u>>8))
		}
	}
	return dst, true
}

type charmapCodec struct{ m *charmap.Charmap }

func (c charmapCodec) decode(b []byte) (rune, int, bool) {
	r := c.m.DecodeByte(b[0])
	return r, 1, r != utf8.RuneError
}

func (c charmapCodec) encode(dst []byte, r rune) ([]byte, bool) {
	b, ok := c.m.EncodeRune(r)
	if !ok {
		return dst, false
	}
	return append(dst, b), true
}

// tableCodec is one of the East Asian encodings: bytes below 0x80 are ASCII (0x5C and 0x7E too, as all programs read
// them today), two-byte characters are in a table made from the library's decoder, and longer ones use the decoder.
type tableCodec struct {
	enc   encoding.Encoding
	shape func(b []byte) int
	pairs []rune // index lead<<8|trail; 0 if undefined
	ones  [256]rune
}

// These functions return how many bytes a character at the start of b would have by its lead bytes: 0 if it is invalid.

func shapeGBK(b []byte) int {
	if b[0] >= 0x81 && b[0] <= 0xfe && len(b) > 1 && b[1] >= 0x40 && b[1] != 0x7f {
		return 2
	}
	return 1
}

func shapeGB18030(b []byte) int {
	if len(b) >= 4 && b[0] >= 0x81 && b[0] <= 0xfe && digit(b[1]) && b[2] >= 0x81 && b[2] <= 0xfe && digit(b[3]) {
		return 4
	}
	return shapeGBK(b)
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

func shapeShiftJIS(b []byte) int {
	lead := b[0] >= 0x81 && b[0] <= 0x9f || b[0] >= 0xe0 && b[0] <= 0xfc
	if lead && len(b) > 1 && b[1] >= 0x40 && b[1] != 0x7f && b[1] <= 0xfc {
		return 2
	}
	return 1
}

func shapeEUCJP(b []byte) int {
	switch {
	case b[0] == 0x8f && len(b) >= 3 && b[1] >= 0xa1 && b[2] >= 0xa1:
		return 3
	case b[0] == 0x8e && len(b) >= 2 && b[1] >= 0xa1 && b[1] <= 0xdf:
		return 2
	case b[0] >= 0xa1 && len(b) >= 2 && b[1] >= 0xa1:
		return 2
	}
	return 1
}

func tableOnce(enc encoding.Encoding, shape func([]byte) int) func() codec {
	return sync.OnceValue(func() codec { return newTable(enc, shape) })
}

func newTable(enc encoding.Encoding, shape func([]byte) int) codec {
	t := &tableCodec{enc: enc, shape: shape, pairs: make([]rune, 1<<16)}
	for lead := 0x80; lead < 0x100; lead++ {
		t.ones[lead], _ = t.ask([]byte{byte(lead)})
		for trail := 0x40; trail < 0x100; trail++ {
			pair := []byte{byte(lead), byte(trail)}
			if shape(pair) == 2 {
				t.pairs[lead<<8|trail], _ = t.ask(pair)
			}
		}
	}
	return t
}

// ask decodes exactly one character with the library.
func (t *tableCodec) ask(b []byte) (rune, bool) {
	out := make([]byte, 0, 16)
	dst := out[:16]
	n, used, err := t.enc.NewDecoder().Transform(dst, b, true)
	if err != nil || used != len(b) {
		return 0, false
	}
	r, size := utf8.DecodeRune(dst[:n])
	if r == utf8.RuneError || size != n {
		return 0, false
	}
	return r, true
}

func (t *tableCodec) decode(b []byte) (rune, int, bool) {
	if b[0] < utf8.RuneSelf {
		return rune(b[0]), 1, true
	}
	n := t.shape(b)
	var r rune
	switch n {
	case 1:
		r = t.ones[b[0]]
	case 2:
		r = t.pairs[int(b[0])<<8|int(b[1])]
	default:
		r, _ = t.ask(b[:n])
	}
	if r == 0 { // the first byte is invalid; the next may begin a character
		return utf8.RuneError, 1, false
	}
	return r, n, true
}

func (t *tableCodec) encode(dst []byte, r rune) ([]byte, bool) {
	if r < utf8.RuneSelf {
		return append(dst, byte(r)), true
	}
	var src, out [8]byte
	n := utf8.EncodeRune(src[:], r)
	size, used, err := t.enc.NewEncoder().Transform(out[:], src[:n], true)
	if err != nil || used != n {
		return dst, false
	}
	// Some libraries write similar characters; reject what doesn't decode to the same one.
	if back, m, ok := t.decode(out[:size]); !ok || m != size || back != r {
		return dst, false
	}
	return append(dst, out[:size]...), true
}
