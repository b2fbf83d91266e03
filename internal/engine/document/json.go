package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// node is a JSON value and its position in the file. encoding/json isn't used because unchanged parts must stay the
// same, byte for byte.
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

// maxNesting bounds recursion.
const maxNesting = 500

type scanner struct {
	data  []byte
	at    int
	depth int
}

// scanJSON reads one JSON value, from at to the end of data.
func scanJSON(data []byte, at int) (node, error) {
	s := &scanner{data: data, at: at}
	s.space()
	n, err := s.value()
	if err != nil {
		return node{}, err
	}
	s.space()
	if s.at < len(s.data) {
		return node{}, s.fail("something follows the end")
	}
	return n, nil
}

func (s *scanner) fail(format string, args ...any) error {
	before := s.data[:min(s.at, len(s.data))]
	return &SyntaxError{
		Line:   1 + bytes.Count(before, []byte("\n")),
		Column: len(before) - bytes.LastIndexByte(before, '\n'),
		Reason: fmt.Sprintf(format, args...),
	}
}

func (s *scanner) space() {
	for s.at < len(s.data) && (s.data[s.at] == ' ' || s.data[s.at] == '\n' || s.data[s.at] == '\r' ||
		s.data[s.at] == '\t') {
		s.at++
	}
}

// take consumes c, if it is next.
func (s *scanner) take(c byte) bool {
	if s.at < len(s.data) && s.data[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) value() (node, error) {
	if s.at >= len(s.data) {
		return node{}, s.fail("the file ends where a value should be")
	}
	if s.depth++; s.depth > maxNesting {
		return node{}, s.fail("nested more than %d deep", maxNesting)
	}
	defer func() { s.depth-- }()
	n := node{start: s.at, kind: s.data[s.at]}
	var err error
	switch n.kind {
	case '{':
		err = s.object(&n)
	case '[':
		err = s.array(&n)
	case '"':
		err = s.str()
	case 't':
		err = s.word("true")
	case 'f':
		err = s.word("false")
	case 'n':
		err = s.word("null")
	default:
		n.kind = 0
		err = s.number()
	}
	n.end = s.at
	return n, err
}

func (s *scanner) object(n *node) error {
	s.at++
	s.space()
	if s.take('}') {
		return nil
	}
	for {
		s.space()
		m := member{start: s.at}
		if s.at >= len(s.data) || s.data[s.at] != '"' {
			return s.fail("a key in quotes should be here")
		}
		if err := s.str(); err != nil {
			return err
		}
		m.key = decodeString(s.data[m.start:s.at])
		s.space()
		if !s.take(':') {
			return s.fail("a colon should be here")
		}
		s.space()
		var err error
		if m.value, err = s.value(); err != nil {
			return err
		}
		n.members = append(n.members, m)
		s.space()
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.fail("a comma or } should be here")
		}
	}
}

func (s *scanner) array(n *node) error {
	s.at++
	s.space()
	if s.take(']') {
		return nil
	}
	for {
		s.space()
		item, err := s.value()
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
		s.space()
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return s.fail("a comma or ] should be here")
		}
	}
}

func (s *scanner) str() error {
	start := s.at
	for s.at++; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			if !json.Valid(s.data[start:s.at]) {
				s.at = start
				return s.fail("a string with a wrong escape")
			}
			return nil
		case c == '\\':
			s.at++
		case c < ' ':
			return s.fail("a control character in a string")
		}
	}
	s.at = len(s.data)
	return s.fail("the file ends inside a string")
}

func (s *scanner) word(want string) error {
	if !bytes.HasPrefix(s.data[s.at:], []byte(want)) {
		return s.fail("%s should be here", want)
	}
	s.at += len(want)
	return nil
}

func (s *scanner) number() error {
	start := s.at
	for s.at < len(s.data) && bytes.IndexByte([]byte("+-.eE0123456789"), s.data[s.at]) >= 0 {
		s.at++
	}
	if !json.Valid(s.data[start:s.at]) {
		s.at = start
		return s.fail("a value should be here")
	}
	return nil
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
