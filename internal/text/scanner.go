package text

import "unicode/utf8"

var crlf = []byte("\r\n")

// scanner goes through bytes in units: a character, a line end of two
// characters (if join), or bytes that mean nothing. The units' bytes, one after
// another, are the input.
type scanner struct {
	codec codec
	rest  []byte
	join  bool // \r\n is one unit, shown as \n

	r    rune   // as shown
	unit []byte // as on disk
	ok   bool   // the bytes mean something
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

// plainRun takes the bytes that are shown as they are: ASCII, up to a \r, in an
// encoding whose bytes below 0x80 are ASCII wherever a character begins.
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
