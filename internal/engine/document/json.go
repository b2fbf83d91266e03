package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// node is a JSON value and its position in the file: unchanged parts stay the same, byte for byte.
type node struct {
	start, end int
	members    []member // of an object, in order
	items      []node   // of an array
	kind       byte     // its first byte: { [ " t f n, or 0 for numbers
}

// member is a key and its value.
type member struct {
	key   string
	start int // of the key
	value node
}

// member finds a member by key; of several the last counts, as for other parsers.
func (n node) member(key string) (member, bool) {
	for i := len(n.members) - 1; i >= 0; i-- {
		if n.members[i].key == key {
			return n.members[i], true
		}
	}
	return member{}, false
}

// value returns the value of a member, or an empty node.
func (n node) value(key string) node {
	m, _ := n.member(key)
	return m.value
}

// SyntaxError reports where a file isn't valid JSON.
type SyntaxError struct {
	Line, Column int // from 1; columns in bytes
	Reason       string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not valid JSON: line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// scanJSON reads one JSON value, from at to the end of data. encoding/json checks it first.
func scanJSON(data []byte, at int) (node, error) {
	var value json.RawMessage
	if err := json.Unmarshal(data[at:], &value); err != nil {
		before := data
		if wrong := (*json.SyntaxError)(nil); errors.As(err, &wrong) && wrong.Offset > 0 {
			before = data[:at+int(wrong.Offset)-1]
		}
		return node{}, &SyntaxError{
			Line:   1 + bytes.Count(before, []byte("\n")),
			Column: len(before) - bytes.LastIndexByte(before, '\n'),
			Reason: err.Error(),
		}
	}
	return (&scanner{data, at}).value(), nil
}

// scanner reads JSON that is known to be valid.
type scanner struct {
	data []byte
	at   int
}

// next returns the first byte of the next value, or the end of an array or object.
func (s *scanner) next() byte {
	for bytes.IndexByte([]byte(" \t\r\n,:"), s.data[s.at]) >= 0 {
		s.at++
	}
	return s.data[s.at]
}

func (s *scanner) value() node {
	n := node{kind: s.next(), start: s.at}
	switch n.kind {
	case '{':
		for s.at++; s.next() != '}'; {
			key := s.value()
			n.members = append(n.members, member{decodeString(s.data[key.start:key.end]), key.start, s.value()})
		}
		s.at++
	case '[':
		for s.at++; s.next() != ']'; {
			n.items = append(n.items, s.value())
		}
		s.at++
	case '"':
		for s.at++; s.data[s.at] != '"'; s.at++ {
			if s.data[s.at] == '\\' {
				s.at++
			}
		}
		s.at++
	default:
		if n.kind != 't' && n.kind != 'f' && n.kind != 'n' {
			n.kind = 0
		}
		for s.at < len(s.data) && bytes.IndexByte([]byte(" \t\r\n,]}"), s.data[s.at]) < 0 {
			s.at++
		}
	}
	n.end = s.at
	return n
}

// decodeString returns the text of a scanned JSON string.
func decodeString(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

// encodeString writes s like Python's json, which writes notebooks: it escapes only what it must or, with ascii,
// everything beyond ASCII too.
func encodeString(s string, ascii bool) string {
	out := []byte{'"'}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r == '\b':
			out = append(out, `\b`...)
		case r == '\f':
			out = append(out, `\f`...)
		case r < ' ':
			out = fmt.Appendf(out, `\u%04x`, r)
		case ascii && r > 0xFFFF:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		case ascii && r >= 0x7F:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return string(append(out, '"'))
}
