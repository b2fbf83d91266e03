package text

import (
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/charset"
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

// legacyCodec is an encoding with a table of characters.
type legacyCodec struct{ *charset.Charset }

func (c legacyCodec) decode(b []byte) (rune, int, bool) {
	r, n := c.Decode(b)
	if r == utf8.RuneError || r > unicode.MaxRune { // the first byte is invalid; the next may begin a character
		return utf8.RuneError, 1, false
	}
	return r, n, true
}

func (c legacyCodec) encode(dst []byte, r rune) ([]byte, bool) { return c.Append(dst, r) }
