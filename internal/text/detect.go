package text

import (
	"bytes"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Detect names the encoding of content, or says ErrBinary. Every answer can be
// decoded and written back byte for byte, right or wrong. Plain ASCII is UTF-8.
func Detect(content []byte) (Encoding, error) {
	for _, enc := range []Encoding{UTF8, UTF16LE, UTF16BE} {
		if bytes.HasPrefix(content, enc.mark()) {
			return marked(content, enc)
		}
	}
	if bytes.IndexByte(content, 0) >= 0 {
		if enc, ok := unmarkedUTF16(content); ok {
			return enc, nil
		}
		return "", ErrBinary
	}
	if utf8.Valid(content) {
		if controls(content) > 0.3 {
			return "", ErrBinary
		}
		return UTF8, nil
	}
	if controls(content) > 0.1 {
		return "", ErrBinary
	}
	if mostlyUTF8(content) {
		return UTF8, nil
	}
	return likeliest(content), nil
}

// marked trusts a byte order mark unless it is the start of UTF-32 or of
// something with NUL characters, which is no text.
func marked(content []byte, enc Encoding) (Encoding, error) {
	body := content[len(enc.mark()):]
	if enc == UTF8 {
		if bytes.IndexByte(body, 0) >= 0 {
			return "", ErrBinary
		}
		return enc, nil
	}
	for i := 0; i+1 < len(body); i += 2 {
		if body[i] == 0 && body[i+1] == 0 {
			return "", ErrBinary
		}
	}
	return enc, nil
}

// sampleSize bounds how much of a long content is scored.
const sampleSize = 64 << 10

// sample takes the start, the middle and the end of long content, cut at line
// ends so that no character is cut in two.
func sample(content []byte) []byte {
	if len(content) <= 3*sampleSize {
		return content
	}
	var out []byte
	for _, at := range []int{0, len(content)/2 - sampleSize/2, len(content) - sampleSize} {
		part := content[at : at+sampleSize]
		if i := bytes.IndexByte(part, '\n'); at > 0 && i >= 0 {
			part = part[i+1:]
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			part = part[:i+1]
		}
		out = append(out, part...)
	}
	return out
}

// controls is the share of control characters that text does not have.
func controls(content []byte) float64 {
	part := content[:min(len(content), sampleSize)]
	if len(part) == 0 {
		return 0
	}
	n := 0
	for _, b := range part {
		if b < '\t' || b > '\r' && b < ' ' && b != 0x1b || b == 0x7f {
			n++
		}
	}
	return float64(n) / float64(len(part))
}

// mostlyUTF8 holds for UTF-8 with a few damaged bytes. Other encodings hardly
// ever form sequences of UTF-8 by accident.
func mostlyUTF8(content []byte) bool {
	good, bad := 0, 0
	for s := sample(content); len(s) > 0; {
		r, n := utf8.DecodeRune(s)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good += n - 1
		}
		s = s[n:]
	}
	return good >= 2*bad && good > 1
}

// unmarkedUTF16 recognises UTF-16 without a mark where it is unmistakable: what
// it decodes to is ordinary text with ASCII in it, whose zero bytes stand at one
// parity (some ideographs have one at the other).
func unmarkedUTF16(content []byte) (Encoding, bool) {
	if len(content)%2 != 0 || len(content) < 4 {
		return "", false
	}
	var zeros [2]int
	for i, b := range content {
		if b == 0 {
			zeros[i%2]++
		}
	}
	switch {
	case zeros[1] >= zeros[0] && readsAsText(content, utf16Codec{}):
		return UTF16LE, true
	case zeros[0] >= zeros[1] && readsAsText(content, utf16Codec{big: true}):
		return UTF16BE, true
	}
	return "", false
}

func readsAsText(content []byte, c utf16Codec) bool {
	ascii, known, all := 0, 0, 0
	rest := content[:min(len(content), sampleSize)]
	for len(rest) > 0 {
		r, n, ok := c.decode(rest)
		rest = rest[n:]
		if !ok && len(rest) == 0 && len(content) > sampleSize {
			break // a pair cut in two by the sample's end
		}
		switch {
		case !ok || r < ' ' && (r < '\t' || r > '\r') || r >= 0xfff0 && r <= 0xffff || utf16.IsSurrogate(r):
			return false
		case r < utf8.RuneSelf:
			ascii++
		case unicode.In(r, unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Han, unicode.Hiragana, unicode.Katakana,
			unicode.Hangul, unicode.Hebrew, unicode.Arabic, unicode.Thai) || unicode.IsPunct(r):
			known++
		}
		all++
	}
	return ascii > 0 && float64(ascii+known) >= 0.95*float64(all) && (ascii*4 >= all || all >= 16)
}
