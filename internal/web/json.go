package web

import (
	"encoding/json"
	"strings"
)

// IndentJSON lays JSON out in lines, up to limit bytes; cut says that there is more. What is not JSON is given back as
// it is, up to the limit too. It goes through the text once and stops at the limit: deep nesting makes indentation grow without bound.
func IndentJSON(src []byte, limit int) (out string, cut bool) {
	if !json.Valid(src) {
		return strings.ToValidUTF8(string(wholeRunes(src[:min(len(src), limit)])), "\uFFFD"), len(src) > limit
	}
	var b strings.Builder
	depth := 0
	line := func() {
		b.WriteByte('\n')
		for range min(depth, 40) {
			b.WriteString("  ")
		}
	}
	for i := 0; i < len(src); i++ {
		if b.Len() > limit {
			return strings.ToValidUTF8(b.String()[:limit], ""), true
		}
		switch c := src[i]; c {
		case ' ', '\t', '\n', '\r':
		case '"':
			end := stringEnd(src, i)
			b.Write(src[i:min(end, i+limit+1)])
			i = end - 1
		case '{', '[':
			b.WriteByte(c)
			if next := skipSpace(src, i+1); src[next] == '}' || src[next] == ']' {
				b.WriteByte(src[next])
				i = next
				continue
			}
			depth++
			line()
		case '}', ']':
			depth--
			line()
			b.WriteByte(c)
		case ',':
			b.WriteByte(c)
			line()
		case ':':
			b.WriteString(": ")
		default:
			b.WriteByte(c)
		}
	}
	if b.Len() > limit {
		return strings.ToValidUTF8(b.String()[:limit], ""), true
	}
	return b.String(), false
}

// stringEnd is the place after the string that begins at i, in valid JSON.
func stringEnd(src []byte, i int) int {
	for i++; src[i] != '"'; i++ {
		if src[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func skipSpace(src []byte, i int) int {
	for src[i] == ' ' || src[i] == '\t' || src[i] == '\n' || src[i] == '\r' {
		i++
	}
	return i
}
