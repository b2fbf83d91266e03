package cell

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const tabStop = 4

// Clean makes a line from text that is not trusted: tabs become spaces, control characters and those that reorder text
// are shown as "�", and bytes that are not UTF-8 too. A sequence that controls terminals is shown by its letters.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	column := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\t':
			fill := tabStop - column%tabStop
			b.WriteString("    "[:fill])
			column += fill
		case r == '\r' && i+n == len(s): // of a line that ended with \r\n
		case r == utf8.RuneError && n == 1, unsafeRune(r):
			b.WriteRune(utf8.RuneError)
			column++
		default:
			b.WriteString(s[i : i+n])
			column++
		}
		i += n
	}
	return b.String()
}

// CleanLines splits untrusted text into clean lines. A line ending at the end starts no further line.
func CleanLines(s string) []string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = Clean(l)
	}
	return lines
}

func isClean(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return cleanRunes(s)
		}
	}
	return true
}

func cleanRunes(s string) bool {
	for i, r := range s {
		if r == '\t' || unsafeRune(r) || r == utf8.RuneError && s[i] != 0xef {
			return false
		}
	}
	return true
}

// unsafeRune reports whether a character controls the terminal or the direction of text.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) ||
		// directions
		r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c ||
		// line separators, and what can't be seen
		r == 0x2028 || r == 0x2029 || r == 0xfeff || r >= 0xe0000 && r <= 0xe007f
}
