package proc

import (
	"bytes"
	"unicode/utf8"
)

// sniff looks at the beginning of output and tells binary from text. A NUL
// alone does not make it binary: `find -print0` prints text.
type sniff struct{ seen []byte }

// look takes the next bytes and reports whether what came so far is binary.
func (s *sniff) look(p []byte) bool {
	s.seen = append(s.seen, p[:min(len(p), sniffed-len(s.seen))]...)
	if bytes.IndexByte(s.seen, 0) < 0 {
		return false
	}
	odd, run := 0, 0
	for b := s.seen; len(b) > 0; {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == 0:
			// Two in a row end no name: they are padding or numbers.
			if run++; run > 1 {
				odd++
			}
		case r == utf8.RuneError && n == 1 && utf8.FullRune(b), r < 0x20 && !bytes.ContainsRune([]byte("\t\n\v\f\r\b\a\x1b"), r):
			odd, run = odd+1, 0
		default:
			run = 0
		}
		b = b[n:]
	}
	return odd*10 > len(s.seen)
}

// text is the whole lines before the first one that holds a NUL.
func (s *sniff) text() string {
	i := bytes.IndexByte(s.seen, 0)
	if i < 0 {
		return ""
	}
	i = bytes.LastIndexByte(s.seen[:i], '\n') + 1
	p := cooked(s.seen[:i], sniffed, 0)
	return string(p.head)
}
