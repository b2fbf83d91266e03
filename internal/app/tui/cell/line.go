package cell

import (
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Span is text of one style. It has no control characters: see [Clean].
type Span struct {
	Text  string
	Style Style
	Link  string // URL that the text opens, or ""
	Codes string // further colors and attributes, as terminals get them: "38;5;208"; see [Colored]
}

// Line is a line of styled text, without a line ending.
type Line []Span

// Text is an unstyled line.
func Text(s string) Line { return Line{{Text: s}} }

// Styled is a line of one style.
func Styled(s string, style Style) Line { return Line{{Text: s, Style: style}} }

// Width is the number of cells that a text takes.
func Width(s string) int { return displaywidth.String(s) }

// Width is the number of cells that the line takes.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += Width(s.Text)
	}
	return n
}

// String is the line's text.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Append appends the bytes that print the line. They end in the default style.
func (l Line) Append(out []byte, c Colors) []byte {
	for _, s := range l {
		if s.Text == "" {
			continue
		}
		if s.Link != "" && c != None {
			out = append(append(append(out, "\x1b]8;;"...), cleanURL(s.Link)...), "\x1b\\"...)
		}
		out = s.Style.start(out, c)
		colored := s.Codes != "" && (c&^Tinted == Full || c&^Tinted == Light)
		if colored {
			out = append(append(append(out, "\x1b["...), s.Codes...), 'm')
		}
		out = append(out, strings.TrimRight(s.Text, joiner)...) // tmux would join it to whatever it gets next
		if colored || s.Style.shows(c) {
			out = append(out, "\x1b[m"...)
		}
		if s.Link != "" && c != None {
			out = append(out, "\x1b]8;;\x1b\\"...)
		}
	}
	return out
}

// MayWrap reports whether the line takes several rows of this width, or might: terminals don't agree on the width of
// every character.
func (l Line) MayWrap(columns int) bool {
	n := 0
	for _, s := range l {
		for _, r := range s.Text {
			if n++; r >= 0x300 {
				n++
			}
		}
	}
	return n > columns
}

// joiner makes one character of those beside it.
const joiner = "\u200d"

// Joined reports whether the line has characters that are one with others, such as flags and families: terminals don't
// agree on their width, and neither while they are typed.
func (l Line) Joined() bool {
	return slices.ContainsFunc(l, func(s Span) bool {
		return strings.ContainsFunc(s.Text, func(r rune) bool {
			return string(r) == joiner || r == 0xfe0f || r >= 0x1f1e6 && r <= 0x1f1ff || r >= 0x1f3fb && r <= 0x1f3ff
		})
	})
}

// Cut shortens the line to width cells. A cut line ends with "…".
func (l Line) Cut(width int) Line {
	if l.Width() <= width {
		return l
	}
	if width <= 0 {
		return nil
	}
	var out Line
	left := width - 1
	for _, s := range l {
		w := Width(s.Text)
		if w > left {
			s.Text = head(s.Text, left)
			return append(out, s, Span{Text: "…", Style: s.Style})
		}
		out = append(out, s)
		left -= w
	}
	return out
}

// Trim removes the spaces at the end of an unstyled line, which terminals treat differently.
func (l Line) Trim() Line {
	n := len(l)
	if n == 0 || l[n-1].Style != Plain || !strings.HasSuffix(l[n-1].Text, " ") {
		return l
	}
	out := append(Line{}, l...)
	out[n-1].Text = strings.TrimRight(out[n-1].Text, " ")
	return out
}

// Right puts more at the right edge of a line of width cells, and cuts l where both don't fit. If there is no space for
// more, it is omitted.
func (l Line) Right(more Line, width int) Line {
	n := more.Width()
	if n == 0 || n+2 > width {
		return l.Cut(width)
	}
	l = l.Cut(width - n - 1)
	out := append(Line{}, l...)
	out = append(out, Span{Text: strings.Repeat(" ", width-n-l.Width())})
	return append(out, more...)
}

// head is the start of s that fits in width cells.
func head(s string, width int) string {
	g := displaywidth.StringGraphemes(s)
	end := 0
	for g.Next() {
		if width -= g.Width(); width < 0 {
			break
		}
		end += len(g.Value())
	}
	return s[:end]
}

// cleanURL removes what would end the sequence that a link is in.
func cleanURL(url string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f {
			return -1
		}
		return r
	}, url)
}

// After compares the line with what old shows, and returns the column of the first difference and the line from there
// on.
func (l Line) After(old Line) (column int, rest Line) {
	i := 0
	for i < len(l) && i < len(old) && l[i] == old[i] {
		column += Width(l[i].Text)
		i++
	}
	if i == len(l) || i == len(old) || l[i].Style != old[i].Style || l[i].Link != old[i].Link ||
		l[i].Codes != old[i].Codes {
		return column, l[i:]
	}
	a, b := displaywidth.StringGraphemes(l[i].Text), displaywidth.StringGraphemes(old[i].Text)
	n := 0
	for a.Next() && b.Next() && a.Value() == b.Value() {
		column += a.Width()
		n += len(a.Value())
	}
	first := l[i]
	first.Text = first.Text[n:]
	return column, append(Line{first}, l[i+1:]...)
}
