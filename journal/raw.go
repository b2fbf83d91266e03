package journal

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// These functions read journals much faster than encoding/json: they find the end of long strings by their quotes, and
// decode only what is needed. They read JSON as this package writes it. They return false for other input, and accept
// some texts that are not JSON, such as control characters in strings.

const maxDepth = 10_000 // like encoding/json

// space skips whitespace.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// stringEnd returns the index after the string that starts at i.
func stringEnd(b []byte, i int) (int, bool) {
	if i >= len(b) || b[i] != '"' {
		return i, false
	}
	start := i + 1
	for i = start; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b), false
		}
		i += n
		escapes := 0
		for k := i - 1; k >= start && b[k] == '\\'; k-- {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1, true
		}
	}
}

// valueEnd returns the index after the value that starts at i.
func valueEnd(b []byte, i, depth int) (int, bool) {
	if i >= len(b) || depth > maxDepth {
		return i, false
	}
	switch c := b[i]; {
	case c == '"':
		return stringEnd(b, i)
	case c == '{':
		_, end, ok := object(b, i, depth, nil)
		return end, ok
	case c == '[':
		end, ok := array(b, i, depth, nil)
		return end, ok
	case c == '-' || c >= '0' && c <= '9':
		start := i
		for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] == '-' || b[i] == '+' || b[i] == '.' || b[i] == 'e' ||
			b[i] == 'E') {
			i++
		}
		return i, json.Valid(b[start:i])
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(b[i:], []byte(word)) {
			return i + len(word), true
		}
	}
	return i, false
}

// object calls f with each member of the object at i: the key with its quotes, and the value. It returns the number of
// members and the index after the object. f may stop it by returning false.
func object(b []byte, i, depth int, f func(key, value []byte) bool) (n, end int, ok bool) {
	if i >= len(b) || b[i] != '{' {
		return 0, i, false
	}
	if i = space(b, i+1); i < len(b) && b[i] == '}' {
		return 0, i + 1, true
	}
	for {
		keyEnd, ok := stringEnd(b, i)
		if !ok {
			return n, keyEnd, false
		}
		key := b[i:keyEnd]
		if i = space(b, keyEnd); i >= len(b) || b[i] != ':' {
			return n, i, false
		}
		i = space(b, i+1)
		end, ok := valueEnd(b, i, depth+1)
		if !ok {
			return n, end, false
		}
		n++
		if f != nil && !f(key, b[i:end]) {
			return n, end, false
		}
		if i = space(b, end); i >= len(b) {
			return n, i, false
		}
		switch b[i] {
		case '}':
			return n, i + 1, true
		case ',':
			i = space(b, i+1)
		default:
			return n, i, false
		}
	}
}

// array calls f with each element of the array at i, and returns the index after it.
func array(b []byte, i, depth int, f func(value []byte) bool) (int, bool) {
	if i >= len(b) || b[i] != '[' {
		return i, false
	}
	if i = space(b, i+1); i < len(b) && b[i] == ']' {
		return i + 1, true
	}
	for {
		end, ok := valueEnd(b, i, depth+1)
		if !ok || f != nil && !f(b[i:end]) {
			return end, false
		}
		if i = space(b, end); i >= len(b) {
			return i, false
		}
		switch b[i] {
		case ']':
			return i + 1, true
		case ',':
			i = space(b, i+1)
		default:
			return i, false
		}
	}
}

// members calls f with the members of an object, and reports whether raw is one.
func members(raw []byte, f func(key, value []byte) bool) bool {
	_, end, ok := object(raw, space(raw, 0), 0, f)
	return ok && space(raw, end) == len(raw)
}

// memberOf returns the value of the first member of an object with this name, or nil. What follows it may be
// missing.
func memberOf(raw []byte, name string) (value []byte) {
	members(raw, func(key, v []byte) bool {
		if string(key[1:len(key)-1]) == name {
			value = v
		}
		return value == nil
	})
	return value
}

// elements calls f with the elements of an array, and reports whether raw is one.
func elements(raw []byte, f func(value []byte) bool) bool {
	end, ok := array(raw, space(raw, 0), 0, f)
	return ok && space(raw, end) == len(raw)
}

// text returns the string value of raw. It may be invalid UTF-8.
func text(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	in := raw[1 : len(raw)-1]
	n := bytes.IndexByte(in, '\\')
	if n < 0 {
		return string(in), true
	}
	var out strings.Builder
	out.Grow(len(in)) // slightly more than needed
	for ; n >= 0; n = bytes.IndexByte(in, '\\') {
		out.Write(in[:n])
		if n+1 == len(in) {
			return "", false
		}
		size := 2
		if c := escapes[in[n+1]]; c != 0 {
			out.WriteByte(c)
		} else {
			var r rune
			if r, size = unicodeEscape(in[n:]); size == 0 {
				return "", false
			}
			out.WriteRune(r)
		}
		in = in[n+size:]
	}
	out.Write(in)
	return out.String(), true
}

// escapes are the characters that stand for others after a backslash.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// unicodeEscape reads the \uXXXX at the start of b, and returns its length; 0: it isn't one.
func unicodeEscape(b []byte) (rune, int) {
	r, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hex4(b[6:]); ok {
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			return both, 12
		}
	}
	return utf8.RuneError, 6
}

// hex4 reads \uXXXX.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}
