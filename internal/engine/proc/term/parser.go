package term

// state is the state within a control sequence.
type state uint8

const (
	ground  state = iota
	escape        // after ESC
	charset       // after ESC and an intermediate byte: one more to come
	csi           // after ESC [
	text          // inside OSC, DCS, APC, PM or SOS: skipped up to its end
	textEsc       // an ESC inside it, possibly the first half of its end
)

const (
	maxParams = 16
	maxParam  = 9999
	// maxText bounds a skipped string, so that a stray opener can't skip everything after it.
	maxText = 4096
)

// parser is the state at which the input was split.
type parser struct {
	state   state
	params  [maxParams]int
	n       int  // params begun
	private bool // ?, <, =, > or an intermediate byte: not supported
	length  int  // bytes skipped
}

// step processes one byte that isn't plain text and returns how much of the input it used: 1, or 0 if the byte ends an
// invalid sequence and is to be read again.
func (s *Screen) step(b byte) int {
	p := &s.parser
	// These end any sequence.
	switch {
	case b == 0x18 || b == 0x1a: // CAN, SUB
		p.state = ground
		return 1
	case b == 0x1b && p.state != text && p.state != textEsc:
		*p = parser{state: escape}
		return 1
	}
	switch p.state {
	case ground:
		s.control(b)
	case escape:
		return s.escape(b)
	case charset:
		p.state = ground
		if b < 0x20 || b >= 0x7f {
			return 0
		}
	case csi:
		return s.csiByte(b)
	case text:
		return s.textByte(b)
	case textEsc:
		p.state = ground
		if b != '\\' { // not ST: the ESC begins something new
			*p = parser{state: escape}
			return 0
		}
	}
	return 1
}

func (s *Screen) control(b byte) {
	switch b {
	case '\n', '\v', '\f':
		s.lineFeed()
	case '\r':
		s.x = 0
	case '\b':
		s.x = max(0, s.x-1)
	case 0:
		s.putRune('␀')
	}
}

func (s *Screen) escape(b byte) int {
	p := &s.parser
	p.state = ground
	switch {
	case b == '[':
		*p = parser{state: csi}
	case b == ']' || b == 'P' || b == '_' || b == '^' || b == 'X':
		*p = parser{state: text}
	case b >= 0x20 && b <= 0x2f:
		p.state = charset
	case b == '7':
		s.saveY, s.saveX = s.y, s.x
	case b == '8':
		s.restore()
	case b == 'D':
		s.down()
	case b == 'E':
		s.lineFeed()
	case b == 'M':
		s.y = max(0, s.y-1)
	case b == 'c':
		s.eraseScreen(2)
		s.y, s.x = 0, 0
	case b < 0x20 || b >= 0x7f:
		return 0
	}
	return 1
}

func (s *Screen) csiByte(b byte) int {
	p := &s.parser
	switch {
	case b >= '0' && b <= '9':
		if p.n == 0 {
			p.n = 1
		}
		v := &p.params[p.n-1]
		*v = min(*v*10+int(b-'0'), maxParam)
	case b == ';' || b == ':':
		p.n = min(max(p.n, 1)+1, maxParams)
	case b >= 0x20 && b <= 0x3f:
		p.private = true
	case b >= 0x40 && b <= 0x7e:
		p.state = ground
		if !p.private {
			s.sequence(b)
		}
	default: // a control character or text: the sequence is incomplete
		p.state = ground
		return 0
	}
	return 1
}

func (s *Screen) textByte(b byte) int {
	p := &s.parser
	p.length++
	switch {
	case b == 0x1b:
		p.state = textEsc
	case b == 0x07:
		p.state = ground
	case b == '\n': // such a string never spans lines: it wasn't meant as one
		p.state = ground
		return 0
	case p.length >= maxText:
		p.state = ground
	}
	return 1
}

// param returns the i-th number of the sequence; missing and zero mean one.
func (p *parser) param(i int) int { return max(1, p.params[i]) }

// sequence executes CSI ... final.
func (s *Screen) sequence(final byte) {
	p := &s.parser
	n := p.param(0)
	switch final {
	case 'A':
		s.y = max(0, s.y-n)
	case 'B', 'e':
		s.rowTo(s.y + n)
	case 'C', 'a':
		s.colTo(s.x + n)
	case 'D':
		s.x = max(0, s.x-n)
	case 'E':
		s.x = 0
		s.rowTo(s.y + n)
	case 'F':
		s.x = 0
		s.y = max(0, s.y-n)
	case 'G', '`':
		s.x = min(n-1, reach)
	case 'd':
		s.rowTo(n - 1)
	case 'H', 'f':
		s.rowTo(n - 1)
		s.x = min(p.param(1)-1, reach)
	case 'J':
		s.eraseScreen(p.params[0])
	case 'K':
		s.eraseLine(p.params[0])
	case 'X':
		s.rows[s.y].blank(s.x, s.x+n)
	case 'P':
		s.rows[s.y].remove(s.x, n)
	case '@':
		s.rows[s.y].insert(s.x, min(n, reach))
	case 's':
		s.saveY, s.saveX = s.y, s.x
	case 'u':
		s.restore()
	}
}

// rowTo moves to a line of the screen; lines below the last one are added as empty ones, as on a terminal.
func (s *Screen) rowTo(y int) {
	y = min(y, Rows-1)
	for len(s.rows) <= y {
		s.rows = append(s.rows, s.fresh())
	}
	s.y = y
}

// colTo moves right, but not past both the cursor and reach.
func (s *Screen) colTo(x int) { s.x = min(x, max(s.x, reach)) }

func (s *Screen) restore() {
	s.x = s.saveX
	s.rowTo(s.saveY)
}

func (s *Screen) eraseLine(how int) {
	r := s.rows[s.y]
	switch how {
	case 0:
		r.cut(s.x)
	case 1:
		r.blank(0, s.x+1)
	case 2:
		r.clear()
	}
}

func (s *Screen) eraseScreen(how int) {
	switch how {
	case 0:
		s.rows[s.y].cut(s.x)
		for _, r := range s.rows[s.y+1:] {
			s.release(r)
		}
		s.rows = s.rows[:s.y+1]
	case 1:
		for _, r := range s.rows[:s.y] {
			r.clear()
		}
		s.rows[s.y].blank(0, s.x+1)
	case 2:
		for _, r := range s.rows {
			r.clear()
		}
	}
}
