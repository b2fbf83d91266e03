package charset

import "unicode/utf8"

// iso2022 decodes ISO-2022-JP, in which escape sequences switch between sets of characters. It reads more of them than
// web browsers do: half-width Katakana and JIS X 0212.
type iso2022 struct {
	jp  *Charset // EUC-JP, which has the same characters
	set byte     // the last byte of the escape sequence; 0 is ASCII
}

// decode returns -1 for an escape sequence.
func (d *iso2022) decode(b []byte) (rune, int) {
	switch {
	case b[0] >= utf8.RuneSelf:
		return utf8.RuneError, 1
	case b[0] == 0x1b:
		return d.escape(b)
	case d.set == 0:
		return rune(b[0]), 1
	case d.set == 'I' && (b[0] < 0x21 || b[0] > 0x5f):
		return utf8.RuneError, 1
	case d.set == 'I':
		return rune(b[0]) - 0x21 + '｡', 1
	case b[0] == '\n':
		d.set = 0
		return '\n', 1
	case len(b) < 2:
		return utf8.RuneError, 1
	}
	wide := []byte{0x8f, b[0] | 0x80, b[1] | 0x80}
	if d.set == 'B' {
		wide = wide[1:]
	}
	if r, n := d.jp.Decode(wide); n == len(wide) && b[0] > ' ' && b[1] > ' ' && b[1] < utf8.RuneSelf {
		return r, 2
	}
	return utf8.RuneError, 2
}

func (d *iso2022) escape(b []byte) (rune, int) {
	for _, e := range []struct {
		sequence string
		set      byte
	}{
		{"$@", 'B'}, {"$B", 'B'}, {"$(D", 'D'}, {"(B", 0}, {"(J", 0}, {"(I", 'I'},
	} {
		if n := 1 + len(e.sequence); len(b) >= n && string(b[1:n]) == e.sequence {
			d.set = e.set
			return -1, n
		}
	}
	return utf8.RuneError, 1
}
