package text

import (
	"fmt"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/charset"
)

// Encoding is the name of a character encoding.
type Encoding string

// The supported encodings.
const (
	UTF8        Encoding = "utf-8"
	UTF16LE     Encoding = "utf-16le"
	UTF16BE     Encoding = "utf-16be"
	GBK         Encoding = "gbk"
	GB18030     Encoding = "gb18030"
	Big5        Encoding = "big5"
	ShiftJIS    Encoding = "shift-jis"
	EUCJP       Encoding = "euc-jp"
	EUCKR       Encoding = "euc-kr"
	Windows1250 Encoding = "windows-1250"
	Windows1251 Encoding = "windows-1251"
	Windows1252 Encoding = "windows-1252"
	Windows1253 Encoding = "windows-1253"
	Windows1254 Encoding = "windows-1254"
	Windows1255 Encoding = "windows-1255"
	Windows1256 Encoding = "windows-1256"
	Windows1257 Encoding = "windows-1257"
	Windows1258 Encoding = "windows-1258"
	Latin1      Encoding = "iso-8859-1"
)

// codec decodes and encodes one character at a time, without state.
type codec interface {
	// decode reads the first character of b, which is not empty. ok is false if the n bytes are invalid.
	decode(b []byte) (r rune, n int, ok bool)
	// encode appends a character, or reports that the encoding doesn't have it.
	encode(dst []byte, r rune) ([]byte, bool)
}

func (e Encoding) codec() (codec, error) {
	switch e {
	case UTF8:
		return utf8Codec{}, nil
	case UTF16LE:
		return utf16Codec{}, nil
	case UTF16BE:
		return utf16Codec{big: true}, nil
	}
	name := string(e)
	if e == ShiftJIS {
		name = charset.ShiftJIS
	}
	if c := charset.Load(name); c != nil {
		return legacyCodec{c}, nil
	}
	return nil, fmt.Errorf("unknown encoding %q", string(e))
}

// mark returns the byte order mark of an encoding that has one.
func (e Encoding) mark() []byte {
	switch e {
	case UTF8:
		return []byte{0xef, 0xbb, 0xbf}
	case UTF16LE:
		return []byte{0xff, 0xfe}
	case UTF16BE:
		return []byte{0xfe, 0xff}
	}
	return nil
}

// unit returns how many bytes the shortest character takes.
func (e Encoding) unit() int {
	if e == UTF16LE || e == UTF16BE {
		return 2
	}
	return 1
}

var crlf = []byte("\r\n")

// scanner splits bytes into units: a character, a two-character line ending (if join), or invalid bytes. The
// concatenation of the units is the input.
type scanner struct {
	codec codec
	rest  []byte
	join  bool // \r\n is one unit, shown as \n

	r    rune   // as shown
	unit []byte // as on disk
	ok   bool   // the bytes are valid
}

func (s *scanner) next() bool {
	if len(s.rest) == 0 {
		return false
	}
	r, n, ok := s.codec.decode(s.rest)
	if r == '\r' && s.join && n < len(s.rest) {
		if lf, m, _ := s.codec.decode(s.rest[n:]); lf == '\n' {
			r, n = '\n', n+m
		}
	}
	if !ok {
		r = utf8.RuneError
	}
	s.r, s.unit, s.ok, s.rest = r, s.rest[:n], ok, s.rest[n:]
	return true
}

// plainRun returns the bytes that are shown unchanged: ASCII, up to a \r, in an encoding whose bytes below 0x80 are
// ASCII at the beginning of a character.
func (s *scanner) plainRun(enc Encoding) []byte {
	if enc.unit() > 1 {
		return nil
	}
	n := 0
	for n < len(s.rest) && s.rest[n] < utf8.RuneSelf && s.rest[n] != '\r' {
		n++
	}
	run := s.rest[:n]
	s.rest = s.rest[n:]
	return run
}
