// Package gitconfig reads files of git's configuration like git, and finds and removes the credentials in them.
//
//	settings, err := gitconfig.Parse(text)
//	found := gitconfig.Credentials(text) // users and passwords of URLs, headers, tokens
//	clean, ok := gitconfig.Clean(text, mask)
//	merged, err := gitconfig.Merge(text, clean, changed) // changes of the clean copy, applied to the text
package gitconfig

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Setting is one line of git's configuration.
type Setting struct {
	Key    Key
	Value  string
	Valued bool // false: a name without a value, which means true

	raw span // of the value in the text, with quotes and a comment
}

// Key is a name in three parts; the case of the first and the last is ignored.
type Key struct {
	Section, Sub, Name string
	HasSub             bool
}

// span is a part of a text.
type span struct{ from, to int }

// SplitKey splits "section.sub.section.name" at its first and last dot.
func SplitKey(s string) Key {
	first, last := strings.IndexByte(s, '.'), strings.LastIndexByte(s, '.')
	if first < 0 {
		return Key{Name: strings.ToLower(s)}
	}
	k := Key{Section: strings.ToLower(s[:first]), Name: strings.ToLower(s[last+1:])}
	if last > first {
		k.Sub, k.HasSub = s[first+1:last], true
	}
	return k
}

func (k Key) String() string {
	if k.HasSub {
		return k.Section + "." + k.Sub + "." + k.Name
	}
	return k.Section + "." + k.Name
}

// Pattern returns the key with any subsection.
func (k Key) Pattern() string {
	if k.HasSub {
		return k.Section + ".*." + k.Name
	}
	return k.Section + "." + k.Name
}

// errSyntax reports a file that git would reject, or that it may read differently.
var errSyntax = errors.New("not in the syntax of git's configuration")

// Parse reads a configuration file byte by byte like git, so that the two can't disagree on where a quoted text, a
// comment or a continued line ends. It returns an error for a file that git rejects, and for a NUL, which ends a value
// early in git.
func Parse(text []byte) ([]Setting, error) {
	p, err := parse(text)
	if err != nil {
		return nil, err
	}
	return p.out, nil
}

func parse(text []byte) (*parser, error) {
	p := &parser{text: text}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return nil, fmt.Errorf("byte %d is NUL: %w", i, errSyntax)
	}
	if !p.skipMark() || !p.file() {
		return nil, fmt.Errorf("near byte %d: %w", p.at, errSyntax)
	}
	return p, nil
}

type parser struct {
	text []byte
	at   int
	eof  bool // the last next was at the end
	stem string
	out  []Setting
	subs []subsection
}

// subsection is the quoted part of a section's header.
type subsection struct {
	name string
	raw  span // without the quotes
}

// next returns the next byte. CR LF is one newline, and so is every read at the end of the file.
func (p *parser) next() byte {
	if p.at >= len(p.text) {
		p.eof = true
		return '\n'
	}
	c := p.text[p.at]
	p.at++
	if c == '\r' && p.at < len(p.text) && p.text[p.at] == '\n' {
		p.at++
		return '\n'
	}
	return c
}

// skipMark skips a byte order mark; half of one is an error.
func (p *parser) skipMark() bool {
	const mark = "\xef\xbb\xbf"
	if strings.HasPrefix(string(p.text), mark) {
		p.at = len(mark)
		return true
	}
	return len(p.text) == 0 || p.text[0] != mark[0]
}

func (p *parser) file() bool {
	for comment := false; ; {
		c := p.next()
		switch {
		case c == '\n' && p.eof:
			return true
		case c == '\n':
			comment = false
		case comment, isSpace(c):
		case c == '#', c == ';':
			comment = true
		case c == '[':
			if !p.section() {
				return false
			}
		case !isAlpha(c):
			return false
		default:
			if !p.setting(c) {
				return false
			}
		}
	}
}

// section reads [name], [name.sub] or [name "sub"] after the opening bracket.
func (p *parser) section() bool {
	var b strings.Builder
	for {
		c := p.next()
		switch {
		case p.eof:
			return false
		case c == ']':
			p.stem = b.String() + "."
			return b.Len() > 0
		case isSpace(c):
			return p.subsection(b.String(), c)
		case !isKeyByte(c) && c != '.':
			return false
		}
		b.WriteByte(lower(c))
	}
}

func (p *parser) subsection(name string, c byte) bool {
	for isSpace(c) {
		if c == '\n' {
			return false
		}
		c = p.next()
	}
	if c != '"' {
		return false
	}
	var b strings.Builder
	from := p.at
	for {
		switch c := p.next(); c {
		case '\n':
			return false
		case '"':
			p.stem = name + "." + b.String() + "."
			p.subs = append(p.subs, subsection{b.String(), span{from, p.at - 1}})
			return p.next() == ']'
		case '\\':
			if c = p.next(); c == '\n' {
				return false
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
}

// setting reads a name, whose first byte is c, and its value.
func (p *parser) setting(c byte) bool {
	name := []byte{lower(c)}
	for {
		if c = p.next(); p.eof || !isKeyByte(c) {
			break
		}
		name = append(name, lower(c))
	}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	s := Setting{Key: SplitKey(p.stem + string(name))}
	switch c {
	case '\n':
	case '=':
		var ok bool
		s.raw.from = p.at
		if s.Value, ok = p.value(); !ok {
			return false
		}
		s.Valued = true
		if s.raw.to = p.at; !p.eof {
			s.raw.to--
			if s.raw.to > s.raw.from && p.text[s.raw.to-1] == '\r' {
				s.raw.to--
			}
		}
	default:
		return false
	}
	p.out = append(p.out, s)
	return true
}

// value reads the text after the equals sign up to the end of the line.
func (p *parser) value() (string, bool) {
	var b, blanks []byte // trailing blanks don't count
	quoted, comment := false, false
	for {
		c := p.next()
		switch {
		case c == '\n':
			return string(b), !quoted
		case comment:
			continue
		case isSpace(c) && !quoted:
			if len(b) > 0 {
				blanks = append(blanks, c)
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			comment = true
			continue
		}
		b, blanks = append(b, blanks...), blanks[:0]
		switch c {
		case '"':
			quoted = !quoted
		case '\\':
			var ok bool
			if b, ok = p.escape(b); !ok {
				return "", false
			}
		default:
			b = append(b, c)
		}
	}
}

// escape adds the character after a backslash.
func (p *parser) escape(b []byte) ([]byte, bool) {
	switch c := p.next(); c {
	case '\n':
		return b, true
	case 't':
		return append(b, '\t'), true
	case 'b':
		return append(b, '\b'), true
	case 'n':
		return append(b, '\n'), true
	case '\\', '"':
		return append(b, c), true
	}
	return b, false
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isAlpha(c byte) bool { return 'a' <= lower(c) && lower(c) <= 'z' }
func isKeyByte(c byte) bool {
	return isAlpha(c) || '0' <= c && c <= '9' || c == '-'
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
