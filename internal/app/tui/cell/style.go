// Package cell is styled text in terminal cells: how wide it is, how it is cut and wrapped, and the bytes that print
// it.
//
//	l := cell.Line{{Text: "Edit ", Style: cell.Bold}, {Text: path}}
//	out = l.Cut(80).Append(out, colors)
//
// Text from models, tools and files goes through [Clean] first, so that no byte of it can control the terminal.
package cell

import "strconv"

// Style is how text looks: attributes and a color by its ANSI name, so that the terminal's own palette applies.
type Style uint16

// Attributes. They can be combined with each other and with one color.
const (
	Bold Style = 1 << iota
	Dim
	Italic
	Underline
	Reverse
	Strike
	Added   // background of added text, where there are colors for it
	Removed // and of removed text
)

// Colors of the text.
const (
	colorShift       = 8
	Red        Style = (iota + 1) << colorShift
	Green
	Yellow
	Blue
	Magenta
	Cyan
	GreenText // green for text of more than a word; darker on white, where there are colors for it
	colors    = Style(0xff) << colorShift
)

// Plain is text without attributes.
const Plain Style = 0

// With adds attributes, and replaces the color if s has one.
func (s Style) With(more Style) Style {
	if more&colors != 0 {
		s &^= colors
	}
	return s | more
}

// Colors says which styles a terminal gets.
type Colors uint8

// What a terminal gets.
const (
	Full       Colors = iota // colors for a dark background
	Light                    // colors for a light background
	Contrast                 // bold and underline instead of colors and dim
	Attributes               // bold, dim and underline, but no colors: NO_COLOR
	None                     // plain text
	// Tinted is added to Full or Light: the terminal has 256 colors, and its background is known.
	Tinted Colors = 0x80
)

// start appends the sequence that switches from plain text to s.
func (s Style) start(out []byte, c Colors) []byte {
	s, color := s.in(c)
	tint := s.tint(c)
	if s &^= Added | Removed; s == Plain && color == 0 && tint == 0 {
		return out
	}
	out = append(out, "\x1b["...)
	code := func(n int) { out = append(strconv.AppendInt(out, int64(n), 10), ';') }
	for _, a := range [...]struct {
		style Style
		code  int
	}{{Bold, 1}, {Dim, 2}, {Italic, 3}, {Underline, 4}, {Reverse, 7}, {Strike, 9}} {
		if s&a.style != 0 {
			code(a.code)
		}
	}
	switch {
	case color >= palette:
		code(38)
		code(5)
		code(color - palette)
	case color != 0:
		code(color)
	}
	if tint != 0 {
		code(48)
		code(5)
		code(tint)
	}
	out[len(out)-1] = 'm'
	return out
}

// shows reports whether s is visible with these colors.
func (s Style) shows(c Colors) bool {
	attributes, color := s.in(c)
	return attributes&^(Added|Removed) != Plain || color != 0 || s.tint(c) != 0
}

const (
	// palette is added to the number of one of 256 colors.
	palette = 256
	// brightBlack is the gray of 16 colors.
	brightBlack = 90
)

// tint is the number of the background among 256 colors; 0: the default one.
func (s Style) tint(c Colors) int {
	switch {
	case c == Full|Tinted && s&Added != 0:
		return 22
	case c == Full|Tinted && s&Removed != 0:
		return 52
	case c == Light|Tinted && s&Added != 0:
		return 194
	case c == Light|Tinted && s&Removed != 0:
		return 224
	}
	return 0
}

// in is a style as a terminal gets it: the attributes, and the number of the color; 0: the default one.
func (s Style) in(c Colors) (attributes Style, color int) {
	named := s & colors
	s &^= colors
	switch c {
	case None:
		return Plain, 0
	case Attributes:
		return s, 0
	case Contrast:
		return s&^Dim | plainer[named>>colorShift], 0
	case Light, Light | Tinted:
		dim := named == 0 && s&Dim != 0 // many terminals don't make black lighter
		switch {
		case dim && c == Light:
			return s, brightBlack
		case dim:
			return s &^ Dim, palette + 243
		case named == GreenText && c != Light:
			return s, palette + 22
		}
		return s, int(onLight[named>>colorShift])
	case Full | Tinted:
		if named != 0 && s&(Added|Removed) != 0 { // red and green are hard to read on their tints
			return s, map[Style]int{Red: palette + 217, GreenText: palette + 157}[named]
		}
	}
	return s, int(onDark[named>>colorShift])
}

// The colors as numbers of the terminal's palette. Yellow and cyan are hard to read on white, blue on black.
var (
	onDark = [...]uint8{
		Red >> colorShift: 31, Green >> colorShift: 32, Yellow >> colorShift: 33, Blue >> colorShift: 94,
		Magenta >> colorShift: 35,
		Cyan >> colorShift:    36, GreenText >> colorShift: 32,
	}
	onLight = [...]uint8{
		Red >> colorShift: 31, Green >> colorShift: 32, Yellow >> colorShift: 35, Blue >> colorShift: 34,
		Magenta >> colorShift: 35,
		Cyan >> colorShift:    34, GreenText >> colorShift: 32,
	}
	// plainer is attributes in place of colors.
	plainer = [...]Style{
		Red >> colorShift: Bold, Green >> colorShift: Bold, Yellow >> colorShift: Bold, Blue >> colorShift: Underline,
		Magenta >> colorShift: Bold,
		Cyan >> colorShift:    Bold | Underline, GreenText >> colorShift: Bold,
	}
)
