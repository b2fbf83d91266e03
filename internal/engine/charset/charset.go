// Package charset decodes and encodes the legacy encodings of files, web pages and PDFs, character by character. Its
// tables are made from golang.org/x/text, which has 750 KB of them in the program; here they are compressed, 80 KB, and
// a program unpacks those that it needs.
package charset

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// labels returns a line per encoding of https://encoding.spec.whatwg.org/#names-and-labels, its name first.
func labels() string {
	text, err := tables.ReadFile("tables/labels.txt")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Name returns the name of the encoding that a web page calls by a label, "" without one.
func Name(label string) string {
	label = strings.ToLower(strings.TrimSpace(label))
	for line := range strings.Lines(labels()) {
		fields := strings.Fields(line)
		if slices.Contains(fields, label) {
			return fields[0]
		}
	}
	return ""
}

// Names of encodings that code refers to, and of ISO 8859-1 itself: for web pages it is a label of windows-1252.
const (
	GBK       = "gbk"
	GB18030   = "gb18030"
	Big5      = "big5"
	EUCKR     = "euc-kr"
	EUCJP     = "euc-jp"
	ShiftJIS  = "shift_jis"
	ISO2022JP = "iso-2022-jp"
	UTF16BE   = "utf-16be"
	UTF16LE   = "utf-16le"
	Latin1    = "iso-8859-1"
)

var loaded = sync.OnceValue(func() map[string]func() *Charset {
	all := map[string]func() *Charset{}
	for line := range strings.Lines(labels() + Latin1) {
		name := strings.Fields(line)[0]
		all[name] = sync.OnceValue(func() *Charset { return load(name) })
	}
	return all
})

// Load returns the encoding of a name, and nil if it has no table of characters.
func Load(name string) *Charset {
	if f, ok := loaded()[name]; ok {
		return f()
	}
	return nil
}

// Charset is an encoding without state. Bytes below 0x80 are ASCII.
type Charset struct {
	form
	// chars has the characters by their codes: a byte, two bytes, or in EUC-JP the last two of three, the first of them
	// without its high bit. 0 is undefined; above unicode.MaxRune are two characters, the first in the low 16 bits.
	chars []rune
	codes [0x300]*[256]uint16
	four  []span // of GB18030
}

// form is how the bytes of an encoding become characters. Ranges are pairs of bytes, the first and the last.
type form struct {
	lead  string // ranges of first bytes of several
	trail string // ranges of second bytes that an invalid character includes
	three bool   // 0x8F begins a character of three bytes
	last  bool   // of several codes of a character, the last is written
}

var forms = map[string]form{
	GBK:      {lead: "\x81\xfe", trail: "\x40\x7e\x80\xfe"},
	GB18030:  {lead: "\x81\xfe", trail: "\x40\x7e\x80\xfe"},
	Big5:     {lead: "\x81\xfe", trail: "\x40\xff", last: true},
	EUCKR:    {lead: "\x81\xfe", trail: "\x80\xff"},
	ShiftJIS: {lead: "\x81\x9f\xe0\xfc", trail: "\x40\x7e\x80\xff"},
	EUCJP:    {lead: "\x8e\x8f\xa1\xfe", trail: "\xa1\xfe", three: true},
}

func within(ranges string, b byte) bool {
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i] <= b && b <= ranges[i+1] {
			return true
		}
	}
	return false
}

// Decode reads the first character of b, which is not empty, and returns how many bytes it has. Invalid bytes are
// utf8.RuneError. Four codes of Big5 are two characters, of which only Text knows; here they are above unicode.MaxRune.
func (c *Charset) Decode(b []byte) (rune, int) {
	lead := b[0]
	if lead < utf8.RuneSelf {
		return rune(lead), 1
	}
	if r := c.chars[lead]; r != 0 {
		return r, 1
	}
	if len(b) < 2 || c.lead == "" {
		return utf8.RuneError, 1
	}
	if r := c.chars[int(lead)<<8|int(b[1])]; r != 0 {
		return r, 2
	}
	return c.decodeRare(b)
}

// decodeRare decodes what isn't in the table by one or two bytes.
func (c *Charset) decodeRare(b []byte) (rune, int) {
	switch {
	case !within(c.lead, b[0]):
		return utf8.RuneError, 1
	case c.four != nil && digit(b[1]):
		return c.decodeFour(b)
	case !within(c.trail, b[1]):
		return utf8.RuneError, 1
	case c.three && b[0] == 0x8f && len(b) > 2 && within(c.trail, b[2]):
		if r := c.chars[int(b[1]&0x7f)<<8|int(b[2])]; r != 0 {
			return r, 3
		}
		return utf8.RuneError, 3
	}
	return utf8.RuneError, 2
}

// Append appends a character, or reports that the encoding doesn't have it.
func (c *Charset) Append(dst []byte, r rune) ([]byte, bool) {
	if r >= 0 && r < utf8.RuneSelf {
		return append(dst, byte(r)), true
	}
	switch code := c.code(r); {
	case code >= 0x8000:
		return append(dst, byte(code>>8), byte(code)), true
	case code > 0xff:
		return append(dst, 0x8f, byte(code>>8)|0x80, byte(code)), true
	case code > 0:
		return append(dst, byte(code)), true
	case c.four != nil && r != utf8.RuneError && utf8.ValidRune(r):
		return c.appendFour(dst, r)
	}
	return dst, false
}

// code returns the code of a character, or 0.
func (c *Charset) code(r rune) uint16 {
	if page := uint32(r) >> 8; page < uint32(len(c.codes)) && c.codes[page] != nil {
		return c.codes[page][byte(r)]
	}
	return 0
}

// Text returns what bytes say in an encoding, as UTF-8 of at most limit bytes, and whether there is such an encoding.
func Text(name string, b []byte, limit int) ([]byte, bool) {
	var next func([]byte) (rune, int)
	switch name {
	case UTF16BE, UTF16LE:
		next = utf16Order(name == UTF16BE).decode
	case ISO2022JP:
		next = (&iso2022{jp: Load(EUCJP)}).decode
	default:
		c := Load(name)
		if c == nil {
			return nil, false
		}
		next = c.Decode
	}
	out := make([]byte, 0, min(len(b)+len(b)/2, limit))
	for len(b) > 0 {
		r, n := next(b)
		b = b[n:]
		done := len(out)
		switch {
		case r > unicode.MaxRune:
			out = utf8.AppendRune(utf8.AppendRune(out, r&0xffff), r>>16)
		case r >= 0:
			out = utf8.AppendRune(out, r)
		}
		if len(out) > limit {
			return out[:done], true
		}
	}
	return out, true
}

// utf16Order is UTF-16 with the high byte first, or last.
type utf16Order bool

func (big utf16Order) unit(b []byte) rune {
	if big {
		return rune(b[0])<<8 | rune(b[1])
	}
	return rune(b[1])<<8 | rune(b[0])
}

func (big utf16Order) decode(b []byte) (rune, int) {
	if len(b) < 2 {
		return utf8.RuneError, 1
	}
	r := big.unit(b)
	if !utf16.IsSurrogate(r) {
		return r, 2
	}
	if len(b) >= 4 {
		if pair := utf16.DecodeRune(r, big.unit(b[2:])); pair != utf8.RuneError {
			return pair, 4
		}
	}
	return utf8.RuneError, 2
}
