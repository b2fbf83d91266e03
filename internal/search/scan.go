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

// cursor looks for one text by its rarest byte, in both cases when case does not count.
type cursor struct {
	text string
	fold bool
	at   int // where the text was last found; len(data) when there is no more, -1 before the first look

	offset     int // of the rarest byte in text
	low, up    byte
	lowAt      int // next place of either case of the byte, not before the last one looked at
	upAt       int
	tries      int // places looked at in vain since reset
	plainIndex bool
}

func newCursor(text string, fold bool) cursor {
	c := cursor{text: text, fold: fold}
	least := 1 << 30
	for i := range len(text) {
		f := frequency(text[i])
		if fold && upper(text[i]) != text[i] {
			f += frequency(upper(text[i])) + 20 // a second byte to look for has its price
		}
		if f < least {
			least, c.offset = f, i
		}
	}
	c.low, c.up = text[c.offset], text[c.offset]
	if fold {
		c.up = upper(c.low)
	}
	c.reset()
	return c
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

func (c *cursor) reset() {
	c.at, c.lowAt, c.upAt, c.tries, c.plainIndex = -1, -1, -1, 0, false
}

// find gives the first place at or after i where the text begins, or len(data).
func (c *cursor) find(data []byte, i int) int {
	if !c.fold {
		return c.findExact(data, i)
	}
	return c.findFold(data, i)
}

func (c *cursor) findExact(data []byte, i int) int {
	for !c.plainIndex {
		from := i + c.offset
		if from >= len(data) {
			return len(data)
		}
		j := bytes.IndexByte(data[from:], c.low)
		if j < 0 {
			return len(data)
		}
		i += j
		if i+len(c.text) > len(data) {
			return len(data)
		}
		if view(data[i:i+len(c.text)]) == c.text {
			return i
		}
		i++
		c.tries++
		// The byte proved common here: the library looks for two bytes at once.
		c.plainIndex = c.tries > 16 && c.tries > i>>6
	}
	j := bytes.Index(data[i:], unsafe.Slice(unsafe.StringData(c.text), len(c.text)))
	if j < 0 {
		return len(data)
	}
	return i + j
}

func (c *cursor) findFold(data []byte, i int) int {
	for {
		from := i + c.offset
		c.lowAt = ahead(data, c.low, c.lowAt, from)
		place := c.lowAt
		if c.up != c.low {
			c.upAt = ahead(data, c.up, c.upAt, from)
			place = min(place, c.upAt)
		}
		i = place - c.offset
		if place == len(data) || i+len(c.text) > len(data) {
			return len(data)
		}
		if equalFold(data[i:i+len(c.text)], c.text) {
			return i
		}
		i++
	}
}

// ahead moves the known next place of a byte to the first one at or after from.
func ahead(data []byte, c byte, at, from int) int {
	if at >= from {
		return at
	}
	if from >= len(data) {
		return len(data)
	}
	if j := bytes.IndexByte(data[from:], c); j >= 0 {
		return from + j
	}
	return len(data)
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
