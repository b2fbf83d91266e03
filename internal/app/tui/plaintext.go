package tui

import (
	"strings"
	"unicode"
)

// plainText is a text without escape sequences and other characters that control terminals.
func plainText(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		if s[0] == 0x1b {
			s = s[sequence(s):]
			continue
		}
		i := strings.IndexByte(s, 0x1b)
		if i < 0 {
			i = len(s)
		}
		b.WriteString(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				return -1
			}
			return r
		}, s[:i]))
		s = s[i:]
	}
	return strings.ToValidUTF8(strings.TrimRight(b.String(), "\n"), "�")
}

// sequence is the length of the escape sequence that a text starts with.
func sequence(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < ' ' {
				return i
			}
		}
		return len(s)
	case ']', 'P', '_', '^', 'X':
		for i := 2; i < len(s); i++ {
			switch {
			case s[i] == 7:
				return i + 1
			case s[i] == 0x1b:
				if i+1 < len(s) && s[i+1] == '\\' {
					return i + 2
				}
				return i
			case s[i] == '\n': // it was never ended
				return i
			}
		}
		return len(s)
	}
	return 2
}
