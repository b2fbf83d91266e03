package proc

import "bytes"

// page keeps the first and the last of a text.
type page struct {
	room      int // left in head
	full      bool
	head      []byte
	tail      ring
	tailLines int64 // newlines that went to the tail
}

// write takes a line or a piece of one. Head is filled up to a line's end; a
// single line larger than it is cut.
func (p *page) write(l []byte) {
	if !p.full {
		if len(l) <= p.room {
			p.head = append(p.head, l...)
			p.room -= len(l)
			return
		}
		p.full = true
		if len(p.head) == 0 || p.head[len(p.head)-1] != '\n' {
			n := wholeRunes(l, p.room)
			p.head = append(p.head, l[:n]...)
			l = l[n:]
		}
	}
	p.tailLines += int64(bytes.Count(l, []byte{'\n'}))
	p.tail.write(l)
}

// render returns the two ends and what is missing between them. If nothing
// is, all of the text is in head.
func (p *page) render() (head, tail string, omittedBytes, omittedLines int64) {
	t := p.lastLines()
	if int64(len(t)) == p.tail.total {
		return string(p.head) + string(t), "", 0, 0
	}
	return string(p.head), string(t), p.tail.total - int64(len(t)), p.tailLines - int64(bytes.Count(t, []byte{'\n'}))
}

// lastLines is the tail, from the beginning of a line if one is near.
func (p *page) lastLines() []byte {
	t, _ := p.tail.from(0, p.tail.max)
	if p.tail.start() == 0 {
		return t
	}
	return fromLine(t)
}

// fromLine drops the rest of a cut line, unless that is much of the text; then
// only the rest of a cut character.
func fromLine(t []byte) []byte {
	if i := bytes.IndexByte(t, '\n'); i >= 0 && i < len(t)/4 {
		return t[i+1:]
	}
	for len(t) > 0 && t[0]&0xc0 == 0x80 {
		t = t[1:]
	}
	return t
}

// wholeRunes is the largest cut of l up to n that splits no character.
func wholeRunes(l []byte, n int) int {
	for n > 0 && n < len(l) && l[n]&0xc0 == 0x80 {
		n--
	}
	return n
}
