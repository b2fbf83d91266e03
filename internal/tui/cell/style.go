// Package cell is styled text in terminal cells: how wide it is, how it is cut and wrapped, and the bytes that print it.
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
	colors = Style(0xff) << colorShift
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
	Full       Colors = iota
	Attributes        // bold, dim and underline, but no colors: NO_COLOR
	None              // plain text
)

// start appends the sequence that switches from plain text to s.
func (s Style) start(out []byte, c Colors) []byte {
	if c == Attributes {
		s &^= colors
	}
	if s == Plain || c == None {
		return out
	}
	out = append(out, "\x1b["...)
	first := true
	code := func(n int) {
		if !first {
			out = append(out, ';')
		}
		first = false
		out = strconv.AppendInt(out, int64(n), 10)
	}
	for _, a := range [...]struct {
		style Style
		code  int
	}{{Bold, 1}, {Dim, 2}, {Italic, 3}, {Underline, 4}, {Reverse, 7}, {Strike, 9}} {
		if s&a.style != 0 {
			code(a.code)
		}
	}
	if color := s & colors >> colorShift; color != 0 {
		code(30 + int(ansi[color]))
	}
	return append(out, 'm')
}

// shows reports whether s is visible with these colors.
func (s Style) shows(c Colors) bool {
	return c == Full && s != Plain || c == Attributes && s&^colors != Plain
}

// ansi is the number of each color in the terminal's palette.
var ansi = [...]uint8{Red >> colorShift: 1, Green >> colorShift: 2, Yellow >> colorShift: 3, Blue >> colorShift: 4, Magenta >> colorShift: 5, Cyan >> colorShift: 6}
