package bash

import (
	"strconv"
	"strings"
)

// maxBraced is how many words a word with braces may become.
const maxBraced = 64

// ExpandBraces expands a{b,c}d in escaped text. Only plain lists are: what nests, counts ({1..9}) or does not close is
// not known, if bash might expand it at all. Where counts is not set nothing counts: {1..'3'} does not.
func ExpandBraces(s string, counts bool) (words []string, ok bool) {
	words = []string{""}
	add := func(t string) {
		for i := range words {
			words[i] += t
		}
	}
	for {
		i := unescapedByte(s, '{')
		if i < 0 {
			add(s)
			return words, true
		}
		add(s[:i])
		s = s[i+1:]
		end := unescapedByte(s, '}')
		if end < 0 || unescapedByte(s[:end], '{') >= 0 {
			if unescapedByte(s, ',') >= 0 || unescapedByte(s, '.') >= 0 {
				return nil, false
			}
			add("{")
			continue
		}
		list := splitUnescaped(s[:end], ',')
		if len(list) == 1 && counts {
			list = sequence(s[:end])
		}
		if len(list) == 1 {
			if unescapedByte(s[:end], '.') >= 0 || unescapedByte(s[end:], ',') >= 0 {
				return nil, false
			}
			add("{" + s[:end] + "}")
			s = s[end+1:]
			continue
		}
		var next []string
		for _, w := range words {
			for _, e := range list {
				next = append(next, w+e)
			}
		}
		if len(next) > maxBraced {
			return nil, false
		}
		words, s = next, s[end+1:]
	}
}

// sequence is the numbers of 1..9; the text itself where it is no such thing, or too long, or has leading zeros.
func sequence(s string) []string {
	from, to, ok := strings.Cut(s, "..")
	a, err1 := strconv.Atoi(from)
	b, err2 := strconv.Atoi(to)
	if !ok || err1 != nil || err2 != nil || a < 0 || b < a || b-a >= maxBraced || strconv.Itoa(a) != from || strconv.Itoa(b) != to {
		return []string{s}
	}
	var out []string
	for n := a; n <= b; n++ {
		out = append(out, strconv.Itoa(n))
	}
	return out
}

// unescapedByte is the place of the first c that no backslash stands before.
func unescapedByte(s string, c byte) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case c:
			return i
		}
	}
	return -1
}

func splitUnescaped(s string, c byte) []string {
	var out []string
	for {
		i := unescapedByte(s, c)
		if i < 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		s = s[i+1:]
	}
}

// Unescaped is a pattern as the text that it is.
func Unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
