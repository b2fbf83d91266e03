package screentest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// parser remembers an incomplete sequence between writes.
type parser struct{ rest string }

// Write is output of a program.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	var replies []string
	in := s.parser.rest + string(p)
	in, part := in[:whole(in)], in[whole(in):]
	for in != "" {
		n, reply := s.next(in)
		if n == 0 {
			break
		}
		if reply != "" {
			replies = append(replies, reply)
		}
		in = in[n:]
	}
	s.parser.rest = in + part
	s.mu.Unlock()
	if s.reply != nil {
		for _, r := range replies {
			s.reply(r)
		}
	}
	return len(p), nil
}

// whole is the length of a text without the first bytes of a character at its end.
func whole(in string) int {
	for n := 1; n < utf8.UTFMax && n <= len(in); n++ {
		if at := len(in) - n; utf8.RuneStart(in[at]) {
			if !utf8.FullRuneInString(in[at:]) {
				return at
			}
			break
		}
	}
	return len(in)
}

// next carries out the first character or sequence and returns its length: 0 if it is incomplete.
func (s *Screen) next(in string) (int, string) {
	switch c := in[0]; {
	case c == 0x1b:
		return s.escape(in)
	case c == '\r':
		s.x, s.pending = 0, false
	case c == '\n', c == '\v', c == '\f':
		s.lineFeed()
	case c == '\b':
		s.x, s.pending = max(0, s.x-1), false
	case c == '\t':
		s.x, s.pending = min(s.columns-1, (s.x/8+1)*8), false
	case c == 7:
		s.bells++
	case c < ' ' || c == 0x7f:
	default:
		if !utf8.FullRuneInString(in) {
			return 0, ""
		}
		if r, n := utf8.DecodeRuneInString(in); r >= 0x80 && r < 0xa0 || r == utf8.RuneError && n == 1 {
			s.note(fmt.Sprintf("%q", in[:n])) // xterm obeys C1 controls in UTF-8 too
			return n, ""
		}
		g := displaywidth.StringGraphemes(in)
		g.Next()
		v := g.Value()
		if i := strings.IndexFunc(v, func(r rune) bool { return r < ' ' }); i > 0 {
			v = v[:i]
		}
		if i := strings.IndexFunc(v, reorders); i >= 0 {
			s.note(fmt.Sprintf("%q", v))
		}
		s.put(v)
		return len(v), ""
	}
	return 1, ""
}

// reorders reports whether a character changes the direction of text.
func reorders(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

func (s *Screen) escape(in string) (int, string) {
	if len(in) < 2 {
		return 0, ""
	}
	switch in[1] {
	case '[':
		for i := 2; i < len(in); i++ {
			if c := in[i]; c >= 0x40 && c <= 0x7e {
				return i + 1, s.csi(in[2:i], c)
			}
		}
		return 0, ""
	case ']', 'P', '_', '^', 'X':
		for i := 2; i < len(in); i++ {
			if in[i] == 7 {
				return i + 1, s.osc(in[1], in[2:i])
			}
			if in[i] == 0x1b && i+1 < len(in) && in[i+1] == '\\' {
				return i + 2, s.osc(in[1], in[2:i])
			}
		}
		return 0, ""
	case '7':
		s.saved = [2]int{s.x, s.y}
	case '8':
		s.x, s.y, s.pending = s.saved[0], s.saved[1], false
	case '(', ')', '#', ' ', '%':
		if len(in) < 3 {
			return 0, ""
		}
		s.note("ESC " + in[1:3])
		return 3, ""
	default:
		s.note("ESC " + in[1:2])
	}
	return 2, ""
}

func (s *Screen) osc(kind byte, text string) string {
	code, rest, _ := strings.Cut(text, ";")
	if kind != ']' || code != "8" {
		s.note("ESC " + string(kind) + text)
	}
	switch {
	case kind == 'P' && strings.HasPrefix(text, "tmux;"):
		s.sent = append(s.sent, text)
	case kind != ']':
	case code == "0" || code == "1" || code == "2":
		s.title = rest
	case code == "8":
	case code == "11" && rest == "?":
		if s.background == "" {
			return ""
		}
		return "\x1b]11;" + s.background + "\x1b\\"
	default:
		s.sent = append(s.sent, text)
	}
	return ""
}

func (s *Screen) csi(params string, final byte) string {
	if strings.IndexByte("hlrtipqsu", final) >= 0 || params != "" && params[0] > ';' {
		s.note("CSI " + params + string(final))
	}
	if params != "" && params[0] == '?' {
		return s.private(params[1:], final)
	}
	if params != "" && params[0] == '>' {
		if final == 'q' {
			return "\x1bP>|screentest\x1b\\"
		}
		return ""
	}
	var n []int
	for p := range strings.SplitSeq(params, ";") {
		v, _ := strconv.Atoi(p)
		n = append(n, v)
	}
	one := max(1, n[0])
	s.pending = s.pending && (final == 'm' || final == 'n' || final == 'c')
	switch final {
	case 'A':
		s.y = max(0, s.y-one)
	case 'B':
		s.y = min(s.height-1, s.y+one)
	case 'C':
		s.x = min(s.columns-1, s.x+one)
	case 'D':
		s.x = max(0, s.x-one)
	case 'E':
		s.x, s.y = 0, min(s.height-1, s.y+one)
	case 'F':
		s.x, s.y = 0, max(0, s.y-one)
	case 'G':
		s.x = min(s.columns-1, one-1)
	case 'H', 'f':
		s.y = min(s.height-1, one-1)
		s.x = 0
		if len(n) > 1 {
			s.x = min(s.columns-1, max(1, n[1])-1)
		}
	case 'J':
		s.eraseScreen(n[0])
	case 'K':
		switch n[0] {
		case 0:
			s.erase(s.y, s.x, s.columns)
		case 1:
			s.erase(s.y, 0, s.x+1)
		case 2:
			s.erase(s.y, 0, s.columns)
		}
	case 'L':
		s.insertRows(one)
	case 'M':
		s.deleteRows(one)
	case 'm':
		s.style = params
		if params == "0" {
			s.style = ""
		}
	case 'n':
		if n[0] == 6 {
			return fmt.Sprintf("\x1b[%d;%dR", s.y+1, s.x+1)
		}
	case 'c':
		return "\x1b[?62;22c"
	case 't': // the stack of titles
		if n[0] == 22 {
			s.titles = append(s.titles, s.title)
		} else if last := len(s.titles) - 1; n[0] == 23 && last >= 0 {
			s.title, s.titles = s.titles[last], s.titles[:last]
		}
	}
	return ""
}

func (s *Screen) private(params string, final byte) string {
	if mode, ok := strings.CutSuffix(params, "$"); ok && final == 'p' {
		n, _ := strconv.Atoi(mode)
		state := 2
		if s.modes[n] {
			state = 1
		}
		return fmt.Sprintf("\x1b[?%d;%d$y", n, state)
	}
	if final == 'u' && params == "" {
		return "\x1b[?0u"
	}
	for p := range strings.SplitSeq(params, ";") {
		n, _ := strconv.Atoi(p)
		switch final {
		case 'h', 'l':
			s.modes[n] = final == 'h'
			if n == 1049 {
				s.alternate(final == 'h')
			}
		case 's':
			s.kept[n] = s.modes[n]
		case 'r':
			s.modes[n] = s.kept[n]
		}
	}
	return ""
}

func (s *Screen) alternate(on bool) {
	switch {
	case on && s.other == nil:
		s.other = &Screen{rows: s.rows, x: s.x, y: s.y}
		s.rows = make([]row, s.height)
	case !on && s.other != nil:
		s.rows, s.x, s.y = s.other.rows, s.other.x, s.other.y
		s.other = nil
	}
	s.pending = false
}

func (s *Screen) eraseScreen(how int) {
	switch how {
	case 0:
		s.erase(s.y, s.x, s.columns)
		for y := s.y + 1; y < s.height; y++ {
			s.rows[y] = row{}
		}
	case 1:
		s.erase(s.y, 0, s.x+1)
		for y := range s.y {
			s.rows[y] = row{}
		}
	case 2:
		s.erased++
		s.rows = make([]row, s.height)
	case 3:
		s.erased++
		s.above = nil
	}
}

func (s *Screen) insertRows(n int) {
	n = min(n, s.height-s.y)
	rows := append(append([]row{}, s.rows[:s.y]...), make([]row, n)...)
	s.rows = append(rows, s.rows[s.y:s.height-n]...)
	s.x = 0
}

func (s *Screen) deleteRows(n int) {
	n = min(n, s.height-s.y)
	rows := append(append([]row{}, s.rows[:s.y]...), s.rows[s.y+n:]...)
	s.rows = append(rows, make([]row, n)...)
	s.x = 0
}
