package search

import (
	"bytes"
	"unsafe"
)

// scanner finds the next occurrence of one of several texts. One goroutine uses it.
type scanner struct {
	cursors []cursor
	// kelvin and longS ask to look out for the two characters beyond ASCII that are another case of k and s.
	kelvin, longS bool
}

func newScanner(l literals) *scanner {
	s := &scanner{}
	for _, t := range l.texts {
		s.cursors = append(s.cursors, newCursor(t, l.fold))
		if l.fold {
			s.kelvin = s.kelvin || bytes.IndexByte([]byte(t), 'k') >= 0
			s.longS = s.longS || bytes.IndexByte([]byte(t), 's') >= 0
		}
	}
	return s
}

// usable tells whether the scanner finds all there is in data; if not, the text must be searched without it.
func (s *scanner) usable(data []byte) bool {
	return !(s.kelvin && bytes.Contains(data, []byte("\u212a")) || s.longS && bytes.Contains(data, []byte("\u017f")))
}

// start prepares for another text.
func (s *scanner) start() {
	for i := range s.cursors {
		s.cursors[i].reset()
	}
}

// next gives the first place at or after i where a text begins, or -1.
func (s *scanner) next(data []byte, i int) int {
	best := -1
	for k := range s.cursors {
		c := &s.cursors[k]
		if c.at < i {
			c.at = c.find(data, i)
		}
		if c.at < len(data) && (best < 0 || c.at < best) {
			best = c.at
		}
	}
	return best
}

// cursor looks for one text. A text with a rare byte is found by that byte, with the library's vector code; any other by
// two of its bytes at once, eight places at a time.
type cursor struct {
	text string
	fold bool
	at   int // where the text was last found; len(data) when there is no more, -1 before the first look

	rare   byte
	rareAt int // its offset in text
	pair   pair
	pairAt int  // offset of its first byte in text
	single bool // look for the one byte
	usual  bool // what single is for a new text
	tries  int  // places without a match since reset

	// The first eight bytes of the text as a word, where it ends before them, and its case bits: they decide most places.
	head, mask, caseBits uint64
}

// commonByte is the frequency from which on looking for a single byte stops too often: at 2 in 100 places the calls cost as
// much as looking for a pair does.
const commonByte = 200

func newCursor(text string, fold bool) cursor {
	c := cursor{text: text, fold: fold, at: -1}
	for i := range min(8, len(text)) {
		c.head |= uint64(text[i]) << (8 * i)
		c.mask |= 0xff << (8 * i)
		if fold && upper(text[i]) != text[i] {
			c.caseBits |= 0x20 << (8 * i)
		}
	}
	often := func(i int) int {
		f := frequency(text[i])
		if fold && upper(text[i]) != text[i] {
			f += frequency(upper(text[i]))
		}
		return f + 1
	}
	least, pairLeast, second := 1<<30, 1<<30, 0
	for i := range len(text) {
		if f := often(i); f < least && (!fold || upper(text[i]) == text[i]) {
			least, c.rareAt, c.rare = f, i, text[i]
		}
		for k := i + 1; k < len(text); k++ {
			if f := often(i) * often(k); f < pairLeast {
				pairLeast, c.pairAt, second = f, i, k
			}
		}
	}
	c.pair = newPair(text[c.pairAt], text[second], second-c.pairAt, fold)
	c.usual = least < commonByte || len(text) == 1 && !fold
	c.reset()
	return c
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

func (c *cursor) reset() { c.at, c.tries, c.single = -1, 0, c.usual }

// find gives the first place at or after i where the text begins, or len(data).
func (c *cursor) find(data []byte, i int) int {
	for {
		if i = c.candidate(data, i); i < 0 || i+len(c.text) > len(data) {
			return len(data)
		}
		if i+8 <= len(data) {
			if (word(data[i:])|c.caseBits)&c.mask == c.head && (len(c.text) <= 8 || c.here(data[i:i+len(c.text)])) {
				return i
			}
		} else if c.here(data[i : i+len(c.text)]) {
			return i
		}
		i++
		if c.tries++; c.tries > 16 && c.tries > i>>6 && len(c.text) > 1 {
			c.single = false // the byte proved common in this text
		}
	}
}

// candidate gives the first place at or after i where the text may begin, or -1.
func (c *cursor) candidate(data []byte, i int) int {
	if c.single {
		from := i + c.rareAt
		if from >= len(data) {
			return -1
		}
		at := bytes.IndexByte(data[from:], c.rare)
		if at < 0 {
			return -1
		}
		return i + at
	}
	at := c.pair.find(data, i+c.pairAt)
	if at < 0 {
		return -1
	}
	return at - c.pairAt
}

func (c *cursor) here(data []byte) bool {
	if c.fold {
		return equalFold(data, c.text)
	}
	return view(data) == c.text
}

// equalFold compares with a text that is in lower case.
func equalFold(data []byte, text string) bool {
	for i := range len(text) {
		if lower[data[i]] != text[i] {
			return false
		}
	}
	return true
}

// view reads bytes as a string without copying them; the bytes must not change while it is in use.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
