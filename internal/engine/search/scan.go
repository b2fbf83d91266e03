package search

import (
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// scanner finds the next occurrence of one of several texts. It is for one goroutine.
type scanner struct {
	cursors []cursor
	// kelvin and longS mean that the two characters beyond ASCII that are another case of k and s must be considered.
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

// usable reports whether the scanner finds all occurrences in data; if not, the text must be searched without it.
func (s *scanner) usable(data []byte) bool {
	return !(s.kelvin && bytes.Contains(data, []byte("\u212a")) || s.longS && bytes.Contains(data, []byte("\u017f")))
}

// start prepares for another text.
func (s *scanner) start() {
	for i := range s.cursors {
		s.cursors[i].reset()
	}
}

// next returns the first place at or after i where a text begins, or -1.
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

// cursor searches for one text. A text with a rare byte is found by that byte, with the library's vector code; any
// other by two of its bytes at once, eight places at a time.
type cursor struct {
	text string
	fold bool
	at   int // where the text was last found; len(data) if there is no more, -1 before the first search

	rare   byte
	rareAt int // its offset in text
	pair   pair
	pairAt int  // offset of its first byte in text
	single bool // search for the one byte
	usual  bool // initial value of single for a new text
	tries  int  // places without a match since reset

	// The first eight bytes of the text as a word, masked to its length, and its case bits: they decide most places.
	head, mask, caseBits uint64
}

// commonByte is the frequency from which on searching for a single byte stops too often: at 2 % of places the calls
// cost as much as searching for a pair.
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

// find returns the first place at or after i where the text begins, or len(data).
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
			c.single = false // the byte is common in this text
		}
	}
}

// candidate returns the first place at or after i where the text may begin, or -1.
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

// equalFold compares data with a lower-case text.
func equalFold(data []byte, text string) bool {
	for i := range len(text) {
		if lower[data[i]] != text[i] {
			return false
		}
	}
	return true
}

// view returns bytes as a string without copying them. The bytes must not change while it is in use.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// longLine searches a line that doesn't fit into the buffer: the DFA scans it piece by piece and keeps its state, so
// that a match is found anywhere and the line is never in memory as a whole. Doubtful matches are decided by the text
// nearby, so that an assertion next to a character beyond ASCII may match at the edge of a piece. It returns the bytes
// of the next line that are in the buffer, at its beginning.
func (g *grepper) longLine(n, from int) (int, error) {
	if g.take.on {
		g.take.countTo(g.buf[:n], from)
	}
	if g.long == nil {
		g.long = newDFA(g.c.req.Pattern.prog, false)
	}
	state := g.long.line
	found := state == matched
	data := g.buf[from:n]
	if found {
		g.takeLong(data, 0, 0)
	}
	passed := 0 // bytes of the line before data
	for {
		end := lineEnd(data, 0)
		over := end < len(data) || g.eof
		if !found {
			piece := data[:end]
			if over {
				piece = g.c.req.Pattern.trimCR(piece)
			}
			var at int
			if state, at = g.scanLong(state, piece, over); state == matched {
				found = true
				g.takeLong(piece, at, passed)
			}
		}
		if end < len(data) {
			return g.nextLine(data, end+1)
		}
		if over || g.halted() || (found && g.c.req.Mode == Paths) {
			g.eof = true
			return 0, nil
		}
		passed += len(data)
		m, err := g.fill(0, len(g.buf))
		if err != nil {
			return 0, err
		}
		data = g.buf[:m]
	}
}

// scanLong runs the DFA over a piece of a line, the last one if over is set, up to a confirmed match. The DFA may make
// any number of states, because nothing else can scan a line piece by piece; it regularly checks whether to stop.
func (g *grepper) scanLong(s uint32, data []byte, over bool) (uint32, int) {
	d := g.long
	i := 0
	for i < len(data) && !g.c.walk.stop.Load() {
		d.allowed = d.spent + allowance
		s, i = d.scan(s, data[:min(i+haltEvery, len(data))], i)
		if s == matched && g.confirmLong(data, i) {
			return matched, i
		}
		if s == matched || s == stuck {
			i++
			s = d.begin(d.after(data[i-1]))
		}
	}
	if over && s != matched && d.end(s) && g.confirmLong(data, i) {
		return matched, i
	}
	return s, i
}

// nextLine moves the data after a long line to the beginning of the buffer, and fills it.
func (g *grepper) nextLine(data []byte, end int) (int, error) {
	if g.take.on {
		g.take.number++
		g.take.counted, g.take.next, g.take.due = 0, 0, max(0, g.take.due-1)
	}
	return g.fill(copy(g.buf, data[end:]), len(g.buf))
}

// confirmLong checks a match in a line that is too long to be searched again, by the text around it.
func (g *grepper) confirmLong(data []byte, at int) bool {
	near := data[max(0, at-window):min(len(data), at+window)]
	return !g.find.p.prog.high || isASCII(near) || g.find.full(near)
}

const window = 32 << 10

// takeLong takes the text around the match.
func (g *grepper) takeLong(data []byte, at, passed int) {
	t := &g.take
	if t.count == 0 && !g.first(nil) {
		t.count = 1
		return
	}
	t.count++
	if !t.on {
		return
	}
	start := max(0, at-t.maxLine*3/4)
	part := data[start:min(len(data), start+t.maxLine)]
	t.lines = append(t.lines, Line{Number: t.number, Match: true, Cut: true, Offset: passed + start})
	t.text = append(t.text, bytes.ToValidUTF8(part, nil)...)
	t.ends = append(t.ends, len(t.text))
	t.due = t.after + 1 // the line itself is counted when it ends
	if t.max > 0 && t.count >= t.max {
		t.on = t.due > 0
	}
}

// wideReader decodes UTF-16 to UTF-8.
type wideReader struct {
	r     io.Reader
	order binary.ByteOrder
	raw   []byte // read and not decoded yet
	buf   []byte
	err   error
}

// wideEncoding detects UTF-16 by its byte order mark.
func wideEncoding(head []byte) (order binary.ByteOrder, name string) {
	if len(head) < 2 {
		return nil, ""
	}
	switch {
	case head[0] == 0xff && head[1] == 0xfe:
		return binary.LittleEndian, "utf-16le"
	case head[0] == 0xfe && head[1] == 0xff:
		return binary.BigEndian, "utf-16be"
	}
	return nil, ""
}

// newWideReader reads a text whose beginning, without the mark, was already read.
func newWideReader(head []byte, r io.Reader, order binary.ByteOrder) *wideReader {
	return &wideReader{r: r, order: order, raw: append([]byte(nil), head...), buf: make([]byte, 32<<10)}
}

func (w *wideReader) Read(p []byte) (int, error) {
	for len(w.raw) < 4 && w.err == nil {
		n, err := w.r.Read(w.buf)
		w.raw, w.err = append(w.raw, w.buf[:n]...), err
	}
	if len(w.raw) == 0 {
		return 0, w.err
	}
	n := 0
	for len(w.raw) > 0 && n+utf8.UTFMax <= len(p) {
		if len(w.raw) < 4 && w.err == nil {
			break // a surrogate pair may be split
		}
		r, size := w.rune()
		n += utf8.EncodeRune(p[n:], r)
		w.raw = w.raw[size:]
	}
	return n, nil
}

// rune reads one character from w.raw, which is not empty. An incomplete pair, or half a unit at the end, is U+FFFD.
func (w *wideReader) rune() (rune, int) {
	if len(w.raw) < 2 {
		return utf8.RuneError, 1
	}
	r := rune(w.order.Uint16(w.raw))
	if !utf16.IsSurrogate(r) {
		return r, 2
	}
	if len(w.raw) >= 4 {
		if pair := utf16.DecodeRune(r, rune(w.order.Uint16(w.raw[2:]))); pair != utf8.RuneError {
			return pair, 4
		}
	}
	return utf8.RuneError, 2
}
