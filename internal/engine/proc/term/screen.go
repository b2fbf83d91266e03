package term

import "unicode/utf8"

const (
	// Rows is how many of the last lines the cursor can reach. Lines above have scrolled away and never change.
	Rows = 64
	// Width is the length at which a line is passed on in pieces, so that a line of any length needs bounded memory.
	Width = 4096
	// reach is the maximum column of a movement (not text): the width of a very wide terminal, so that a few bytes
	// can't cause much padding.
	reach = 512
)

// Screen has the last Rows lines and passes those that scroll away to emit.
type Screen struct {
	emit func(line []byte, more bool)

	rows     []*row // the reachable lines, oldest first; never empty
	spare    []*row // rows to use again
	y, x     int    // cursor: index into rows, cell
	saveY    int
	saveX    int
	parser   parser
	scratch  []byte
	rawCarry []byte // an incomplete UTF-8 sequence
}

// New returns an empty screen. emit receives each line that can no longer change, without its newline; more means that
// the line was too long and continues in the next call. The bytes are only valid during the call.
func New(emit func(line []byte, more bool)) *Screen {
	return &Screen{emit: emit, rows: []*row{{}}}
}

// Write processes the next bytes of output; sequences may be split anywhere.
func (s *Screen) Write(p []byte) {
	if len(s.rawCarry) > 0 {
		p = append(s.rawCarry, p...)
		s.rawCarry = nil
	}
	for len(p) > 0 {
		if s.parser.state == ground {
			if n := plainRun(p); n > 0 {
				s.putASCII(p[:n])
				p = p[n:]
				continue
			}
			if p[0] >= utf8.RuneSelf {
				if !utf8.FullRune(p) {
					s.rawCarry = append([]byte(nil), p...)
					return
				}
				r, n := utf8.DecodeRune(p)
				s.putRune(r)
				p = p[n:]
				continue
			}
		}
		p = p[s.step(p[0]):]
	}
}

// Flush emits all remaining lines, up to the cursor or the last line with text. An empty last line isn't emitted: the
// text ended with a newline.
func (s *Screen) Flush() {
	for _, b := range s.rawCarry {
		_ = b // every byte of an incomplete sequence is one unknown character
		s.putRune(utf8.RuneError)
	}
	s.rawCarry = nil
	s.Unsettled(s.emit)
	s.rows, s.y, s.x = []*row{{}}, 0, 0
	s.parser = parser{}
}

// Unsettled shows the lines that may still change, as Flush would emit them, without changing them.
func (s *Screen) Unsettled(show func(line []byte, more bool)) {
	end := len(s.rows)
	for end > s.y+1 && s.rows[end-1].len() == 0 {
		end--
	}
	if s.rows[end-1].len() == 0 {
		end--
	}
	for _, r := range s.rows[:end] {
		show(s.text(r), false)
	}
}

func (s *Screen) text(r *row) []byte {
	if !r.wide {
		return r.ascii
	}
	s.scratch = s.scratch[:0]
	for _, c := range r.runes {
		s.scratch = utf8.AppendRune(s.scratch, c)
	}
	return s.scratch
}

// lineFeed moves to the start of the next line: the terminal's driver adds the carriage return to each newline of a
// program.
func (s *Screen) lineFeed() {
	s.x = 0
	s.down()
}

func (s *Screen) down() {
	if s.y++; s.y < len(s.rows) {
		return
	}
	if len(s.rows) == Rows {
		s.emit(s.text(s.rows[0]), false)
		s.release(s.rows[0])
		copy(s.rows, s.rows[1:])
		s.rows = s.rows[:Rows-1]
		s.y--
		s.saveY = max(0, s.saveY-1)
	}
	s.rows = append(s.rows, s.fresh())
}

// flow emits the bottom line, which is full, and continues with an empty one. The lines above are emitted with it.
func (s *Screen) flow() {
	last := len(s.rows) - 1
	for _, r := range s.rows[:last] {
		s.emit(s.text(r), false)
		s.release(r)
	}
	s.emit(s.text(s.rows[last]), true)
	s.rows[0] = s.rows[last]
	s.rows[0].clear()
	s.rows = s.rows[:1]
	s.y, s.x, s.saveY, s.saveX = 0, 0, 0, 0
}

// room returns the row for the cursor's cell, after starting a new one if the line is full.
func (s *Screen) room() *row {
	if s.x >= Width {
		if s.y == len(s.rows)-1 {
			s.flow()
		} else {
			s.x = Width - 1
		}
	}
	return s.rows[s.y]
}

func (s *Screen) putRune(c rune) {
	if c >= 0x80 && c < 0xa0 {
		return // 8-bit control characters
	}
	r := s.room()
	r.set(s.x, c)
	s.x++
}

func (s *Screen) putASCII(p []byte) {
	for len(p) > 0 {
		r := s.room()
		n := min(len(p), Width-s.x)
		r.setASCII(s.x, p[:n])
		s.x += n
		p = p[n:]
	}
}

func (s *Screen) fresh() *row {
	if n := len(s.spare); n > 0 {
		r := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return r
	}
	return &row{}
}

func (s *Screen) release(r *row) {
	r.clear()
	s.spare = append(s.spare, r)
}

// plainRun counts the leading bytes that only print characters: printable ASCII and tabs.
func plainRun(p []byte) int {
	for i, b := range p {
		if (b < 0x20 && b != '\t') || b >= 0x7f {
			return i
		}
	}
	return len(p)
}
