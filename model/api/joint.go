package api

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Servers split text between bytes, not between characters: half a UTF-8 sequence may end one JSON string and the other
// half begin the next one, and so may the two \u escapes of a surrogate pair. encoding/json would replace both halves
// by U+FFFD. So Unquote keeps incomplete characters, and Joint joins them.

// Unquote decodes a valid JSON string and keeps bytes that are not UTF-8. A lone surrogate becomes the three bytes that
// UTF-8 would give it, which [Joint] understands.
func Unquote(quoted []byte) []byte {
	if len(quoted) < 2 || quoted[0] != '"' {
		return nil
	}
	in := quoted[1 : len(quoted)-1]
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); i++ {
		if in[i] != '\\' || i+1 == len(in) {
			out = append(out, in[i])
			continue
		}
		i++
		switch in[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			if i+4 < len(in) {
				out = appendUnit(out, in[i+1:i+5])
				i += 4
			}
		default: // quote, backslash, slash
			out = append(out, in[i])
		}
	}
	return out
}

// appendUnit adds a UTF-16 code unit, given as four hexadecimal digits, in three bytes or fewer.
func appendUnit(out, hex []byte) []byte {
	n, err := strconv.ParseUint(string(hex), 16, 16)
	if err != nil {
		return out
	}
	if !utf16.IsSurrogate(rune(n)) {
		return utf8.AppendRune(out, rune(n))
	}
	return append(out, 0xE0|byte(n>>12), 0x80|byte(n>>6)&0x3F, 0x80|byte(n)&0x3F)
}

// Joint joins pieces of text into complete characters.
type Joint struct{ held []byte }

// Add adds a piece and returns the complete characters so far.
func (j *Joint) Add(piece []byte) string {
	b := append(j.held, piece...)
	n := len(b) - unfinished(b)
	out := Clean(b[:n])
	j.held = append(j.held[:0:0], b[n:]...)
	return out
}

// Rest returns the held bytes that were never completed.
func (j *Joint) Rest() string {
	out := Clean(j.held)
	j.held = nil
	return out
}

// unfinished counts the bytes at the end of b that more bytes may complete.
func unfinished(b []byte) int {
	for n := min(5, len(b)); n > 0; n-- {
		if open(b[len(b)-n:]) {
			return n
		}
	}
	return 0
}

// open reports whether b, of at most five bytes, is the beginning of a UTF-8 sequence, or the first half of a surrogate
// pair with or without the beginning of the second.
func open(b []byte) bool {
	switch len(b) {
	case 1:
		return !utf8.FullRune(b)
	case 2:
		return !utf8.FullRune(b) || b[0] == 0xED && b[1]>>6 == 2
	case 3:
		return !utf8.FullRune(b) || isHigh(b)
	case 4:
		return isHigh(b) && b[3] == 0xED
	default:
		return isHigh(b) && b[3] == 0xED && b[4]>>4 == 0xB
	}
}

func isHigh(b []byte) bool { return len(b) >= 3 && b[0] == 0xED && b[1]>>4 == 0xA && b[2]>>6 == 2 }
func isLow(b []byte) bool  { return len(b) >= 3 && b[0] == 0xED && b[1]>>4 == 0xB && b[2]>>6 == 2 }

// Clean replaces pairs of surrogates by one character and other invalid UTF-8 by U+FFFD.
func Clean(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		if isHigh(b[i:]) && isLow(b[i+3:]) {
			out = utf8.AppendRune(out, utf16.DecodeRune(unit(b[i:]), unit(b[i+3:])))
			i += 6
			continue
		}
		if isHigh(b[i:]) || isLow(b[i:]) {
			out = utf8.AppendRune(out, utf8.RuneError)
			i += 3
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		out = utf8.AppendRune(out, r)
		i += n
	}
	return string(out)
}

// unit reads the three bytes of a surrogate.
func unit(b []byte) rune { return rune(b[0]&0x0F)<<12 | rune(b[1]&0x3F)<<6 | rune(b[2]&0x3F) }
