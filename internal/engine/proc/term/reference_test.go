package term

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The reference: the whole input at once, all lines in one grid of runes,
// sequences found by regular expressions, nothing clever anywhere.

type grid struct {
	lines  [][]rune
	more   map[int]bool // lines handed on in pieces
	top    int          // first line the cursor can reach
	y, x   int          // y counts from the first line of all
	sy, sx int          // saved; sy counts from top
}

var (
	reCSI     = regexp.MustCompile(`\A\x1b\[([\x20-\x3f]*)([\x40-\x7e])`)
	reCSIBad  = regexp.MustCompile(`\A\x1b\[[\x20-\x3f]*`)
	reString  = regexp.MustCompile(`\A(?s-m:\x1b[\]P_^X])`)
	reCharset = regexp.MustCompile(`\A\x1b[\x20-\x2f]`)
)

func reference(in []byte) string {
	g := &grid{lines: [][]rune{nil}, more: map[int]bool{}}
	for len(in) > 0 {
		in = in[g.token(in):]
	}
	end := len(g.lines)
	for end > g.y+1 && len(g.lines[end-1]) == 0 {
		end--
	}
	if len(g.lines[end-1]) == 0 {
		end--
	}
	var b strings.Builder
	for i, l := range g.lines[:end] {
		b.WriteString(string(l))
		if g.more[i] {
			b.WriteByte('+')
		} else {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (g *grid) token(in []byte) int {
	switch c := in[0]; {
	case c == 0x1b:
		return g.escape(in)
	case c == '\n' || c == '\v' || c == '\f':
		g.x = 0
		g.down()
	case c == '\r':
		g.x = 0
	case c == '\b':
		g.x = max(0, g.x-1)
	case c == 0:
		g.put('␀')
	case c == '\t' || c >= 0x20 && c < 0x7f:
		g.put(rune(c))
	case c >= 0x80:
		r, n := utf8.DecodeRune(in)
		if r < 0x80 || r >= 0xa0 {
			g.put(r)
		}
		return n
	}
	return 1
}

func (g *grid) down() {
	g.y++
	if g.y == len(g.lines) {
		g.lines = append(g.lines, nil)
		if len(g.lines)-g.top > Rows {
			g.top++
			g.sy = max(0, g.sy-1)
		}
	}
}

func (g *grid) put(r rune) {
	if g.x >= Width {
		if g.y == len(g.lines)-1 {
			g.more[g.y] = true
			g.lines = append(g.lines, nil)
			g.y++
			g.x, g.top, g.sy, g.sx = 0, g.y, 0, 0
		} else {
			g.x = Width - 1
		}
	}
	l := g.lines[g.y]
	for len(l) <= g.x {
		l = append(l, ' ')
	}
	l[g.x] = r
	g.lines[g.y] = l
	g.x++
}

func (g *grid) row(y int) { // y counts from top
	y = min(y, Rows-1)
	for len(g.lines) <= g.top+y {
		g.lines = append(g.lines, nil)
	}
	g.y = g.top + y
}

func (g *grid) escape(in []byte) int {
	if len(in) == 1 {
		return 1
	}
	if m := reCSI.FindSubmatch(in); m != nil {
		if !strings.ContainsAny(string(m[1]), " !\"#$%&'()*+,-./<=>?") {
			g.csi(strings.ReplaceAll(string(m[1]), ":", ";"), m[2][0])
		}
		return len(m[0])
	}
	if in[1] == '[' { // broken off
		return len(reCSIBad.Find(in)) + g.swallowed(in[len(reCSIBad.Find(in)):])
	}
	if reString.Match(in) {
		return g.skipString(in)
	}
	if reCharset.Match(in) {
		if len(in) > 2 && in[2] >= 0x20 && in[2] < 0x7f {
			return 3
		}
		return 2 + g.swallowed(in[2:])
	}
	switch c := in[1]; {
	case c == '7':
		g.sy, g.sx = g.y-g.top, g.x
	case c == '8':
		g.x = g.sx
		g.row(g.sy)
	case c == 'D':
		g.down()
	case c == 'E':
		g.x = 0
		g.down()
	case c == 'M':
		g.y = max(g.top, g.y-1)
	case c == 'c':
		g.csi("2", 'J')
		g.y, g.x = g.top, 0
	case c < 0x20 || c >= 0x7f:
		return 1 + g.swallowed(in[1:])
	}
	return 2
}

// swallowed is 1 where a sequence is ended by CAN or SUB, which go with it.
func (g *grid) swallowed(rest []byte) int {
	if len(rest) > 0 && (rest[0] == 0x18 || rest[0] == 0x1a) {
		return 1
	}
	return 0
}

func (g *grid) skipString(in []byte) int {
	n := 0
	for i := 2; i < len(in); i++ {
		n++
		switch c := in[i]; {
		case c == 0x18 || c == 0x1a || c == 0x07:
			return i + 1
		case c == '\n':
			return i
		case c == 0x1b:
			if i+1 == len(in) {
				return i + 1
			}
			if in[i+1] == '\\' || in[i+1] == 0x18 || in[i+1] == 0x1a {
				return i + 2
			}
			return i
		case n >= maxText:
			return i + 1
		}
	}
	return len(in)
}

func (g *grid) csi(params string, final byte) {
	var ps [2]int
	for i, p := range strings.Split(params, ";") {
		if i == 2 {
			break
		}
		if len(strings.TrimLeft(p, "0")) > 4 {
			p = "9999"
		}
		ps[i], _ = strconv.Atoi(p)
	}
	n := max(1, ps[0])
	line := g.lines[g.y]
	switch final {
	case 'A':
		g.y = max(g.top, g.y-n)
	case 'F':
		g.y, g.x = max(g.top, g.y-n), 0
	case 'B', 'e':
		g.row(g.y - g.top + n)
	case 'E':
		g.x = 0
		g.row(g.y - g.top + n)
	case 'C', 'a':
		for ; n > 0 && g.x < reach; n-- {
			g.x++
		}
	case 'D':
		g.x = max(0, g.x-n)
	case 'G', '`':
		g.x = min(n-1, reach)
	case 'd':
		g.row(n - 1)
	case 'H', 'f':
		g.row(n - 1)
		g.x = min(max(1, ps[1])-1, reach)
	case 's':
		g.sy, g.sx = g.y-g.top, g.x
	case 'u':
		g.x = g.sx
		g.row(g.sy)
	case 'J', 'K':
		g.erase(ps[0], final)
	case 'X':
		for i := g.x; i < min(len(line), g.x+n); i++ {
			line[i] = ' '
		}
	case 'P':
		if g.x < len(line) {
			g.lines[g.y] = append(append([]rune{}, line[:g.x]...), line[min(len(line), g.x+n):]...)
		}
	case '@':
		if g.x < len(line) {
			out := append([]rune{}, line[:g.x]...)
			out = append(out, []rune(strings.Repeat(" ", min(n, reach)))...)
			out = append(out, line[g.x:]...)
			g.lines[g.y] = out[:min(len(out), Width)]
		}
	}
}

func (g *grid) erase(how int, what byte) {
	for y := g.top; y < len(g.lines); y++ {
		switch {
		case y == g.y && how == 0:
			g.lines[y] = g.lines[y][:min(g.x, len(g.lines[y]))]
		case y == g.y && how == 1:
			for i := 0; i <= g.x && i < len(g.lines[y]); i++ {
				g.lines[y][i] = ' '
			}
		case y == g.y && how == 2:
			g.lines[y] = nil
		case what == 'J' && (how == 1 && y < g.y || how == 2):
			g.lines[y] = nil
		}
	}
	if what == 'J' && how == 0 {
		g.lines = g.lines[:g.y+1]
	}
}
