package document

import (
	"bytes"
	"strconv"
)

// operand is a value in a content stream or in a character map.
type operand struct {
	kind  byte // n number, s string, / name, [ array, o operator, 0 end
	num   float64
	str   string
	items []operand
}

// tokens reads a content stream. It never fails: invalid parts are skipped.
type tokens struct {
	data  []byte
	at    int
	depth int
}

// next returns the next operand or operator.
func (t *tokens) next() operand {
	for {
		t.space()
		if t.at >= len(t.data) {
			return operand{}
		}
		switch c := t.data[t.at]; c {
		case '(':
			return operand{kind: 's', str: t.literal()}
		case '<':
			if bytes.HasPrefix(t.data[t.at:], []byte("<<")) {
				// dictionaries only mark content and describe inline images: their tokens are skipped one by one
				t.at += 2
				continue
			}
			return operand{kind: 's', str: t.hex()}
		case '/':
			t.at++
			return operand{kind: '/', str: t.name()}
		case '[':
			t.at++
			return t.array()
		case ']', '>', ')', '{', '}':
			t.at++
			if c == ']' && t.depth > 0 {
				return operand{kind: ']'}
			}
		default:
			return t.word()
		}
	}
}

func (t *tokens) space() {
	for t.at < len(t.data) {
		switch c := t.data[t.at]; {
		case isPDFSpace(c):
			t.at++
		case c == '%':
			end := bytes.IndexAny(t.data[t.at:], "\r\n")
			if end < 0 {
				end = len(t.data) - t.at
			}
			t.at += end
		default:
			return
		}
	}
}

func (t *tokens) array() operand {
	out := operand{kind: '['}
	if t.depth >= 20 {
		return out
	}
	t.depth++
	defer func() { t.depth-- }()
	for {
		v := t.next()
		if v.kind == 0 || v.kind == ']' {
			return out
		}
		out.items = append(out.items, v)
	}
}

func isPDFDelimiter(c byte) bool {
	return bytes.IndexByte([]byte("()<>[]{}/%"), c) >= 0
}

func (t *tokens) regular() string {
	start := t.at
	for t.at < len(t.data) && !isPDFSpace(t.data[t.at]) && !isPDFDelimiter(t.data[t.at]) {
		t.at++
	}
	return string(t.data[start:t.at])
}

func (t *tokens) word() operand {
	s := t.regular()
	if c := s[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		if n, err := strconv.ParseFloat(s, 64); err == nil {
			return operand{kind: 'n', num: n}
		}
	}
	return operand{kind: 'o', str: s}
}

// name reads a name, in which #41 is A.
func (t *tokens) name() string {
	s := t.regular()
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '#' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

func (t *tokens) hex() string {
	t.at++
	end := bytes.IndexByte(t.data[t.at:], '>')
	if end < 0 {
		end = len(t.data) - t.at
	}
	var digits []byte
	for _, c := range t.data[t.at : t.at+end] {
		switch {
		case c >= '0' && c <= '9':
			digits = append(digits, c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			digits = append(digits, c|0x20-'a'+10)
		}
	}
	t.at = min(len(t.data), t.at+end+1)
	if len(digits)%2 == 1 {
		digits = append(digits, 0)
	}
	out := make([]byte, len(digits)/2)
	for i := range out {
		out[i] = digits[2*i]<<4 | digits[2*i+1]
	}
	return string(out)
}

// literal reads a string in parentheses.
func (t *tokens) literal() string {
	var out []byte
	depth := 0
	for t.at < len(t.data) {
		c := t.data[t.at]
		t.at++
		switch c {
		case '(':
			if depth++; depth == 1 {
				continue
			}
		case ')':
			if depth--; depth == 0 {
				return string(out)
			}
		case '\\':
			out = t.escape(out)
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

func (t *tokens) escape(out []byte) []byte {
	if t.at >= len(t.data) {
		return out
	}
	c := t.data[t.at]
	t.at++
	switch c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case '\r': // a line that continues
		if t.at < len(t.data) && t.data[t.at] == '\n' {
			t.at++
		}
		return out
	case '\n':
		return out
	}
	if c < '0' || c > '7' {
		return append(out, c)
	}
	n := int(c - '0')
	for i := 0; i < 2 && t.at < len(t.data) && t.data[t.at] >= '0' && t.data[t.at] <= '7'; i++ {
		n = n*8 + int(t.data[t.at]-'0')
		t.at++
	}
	return append(out, byte(n))
}

// skipInlineImage skips the bytes of an inline image: from ID to a separate EI.
func (t *tokens) skipInlineImage() {
	for {
		end := bytes.Index(t.data[t.at:], []byte("EI"))
		if end < 0 {
			t.at = len(t.data)
			return
		}
		before, after := t.at+end-1, t.at+end+2
		t.at = after
		if before >= 0 && isPDFSpace(t.data[before]) && (after >= len(t.data) || isPDFSpace(t.data[after])) {
			return
		}
	}
}
