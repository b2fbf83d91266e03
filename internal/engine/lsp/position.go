package lsp

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// units counts the code units of a text: UTF-16, unless the server counts bytes.
func units(text string, inBytes bool) (n int) {
	if inBytes {
		return len(text)
	}
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// line returns a line, counted from 0, and where it begins.
func line(text string, number int) (line string, start int, ok bool) {
	if number < 0 {
		return "", 0, false
	}
	for ; number > 0; number-- {
		i := strings.IndexByte(text[start:], '\n')
		if i < 0 {
			return "", 0, false
		}
		start += i + 1
	}
	line, _, _ = strings.Cut(text[start:], "\n")
	return line, start, true
}

// offset returns the byte that a position stands for. A position after the end of a line is its end, as the protocol
// says; one in a character is an error, because the server has another text.
func offset(text string, p Position, inBytes bool) (int, error) {
	at, start, ok := line(text, p.Line)
	if !ok && p.Character == 0 && p.Line == strings.Count(text, "\n")+1 {
		return len(text), nil
	}
	if !ok || p.Character < 0 {
		return 0, fmt.Errorf("the server named line %d, which doesn't exist", p.Line+1)
	}
	n := 0
	for i, r := range at {
		if n == p.Character {
			return start + i, nil
		}
		if n > p.Character {
			break
		}
		if inBytes {
			n += utf8.RuneLen(r)
		} else {
			n += units(string(r), false)
		}
	}
	if n > p.Character {
		return 0, fmt.Errorf("the server named a place inside a character of line %d", p.Line+1)
	}
	return start + len(at), nil
}
