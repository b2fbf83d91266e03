package outline

import (
	"bytes"
	"slices"
	"strings"
)

// span is a comment or a text in a source file.
type span struct {
	begin, end string
	escapes    bool // a backslash takes the next byte with it
	inLine     bool // it ends with the line
}

// outer is a declaration around a line.
type outer struct {
	indent, inside int // inside: the indentation of the last declaration in it; 0: none yet
	container      bool
}

// member reports whether a line with this indentation is directly in o, not in something in it that wasn't recognized.
func (o outer) member(indent int) bool { return o.inside == 0 || o.inside == indent }

const (
	maxColumns  = 400     // bytes of a line that are searched for a declaration
	maxSearched = 1 << 20 // bytes of such lines; those in functions don't count
)

// declarations searches source line by line.
func (l *language) declarations(source string) (all []Declaration) {
	var open *span
	var outers []outer
	var line []byte
	searched := 0
	for n := 1; source != "" && searched < maxSearched && len(all) < maxDeclarations; n++ {
		text, rest, _ := strings.Cut(source, "\n")
		source = rest
		line = append(line[:0], text...)
		open = l.blank(line, open)
		code := bytes.TrimRight(line[:min(len(line), maxColumns)], " \t\r")
		indent, depth := indentation(code), len(outers)
		for depth > 0 && outers[depth-1].indent >= indent {
			depth--
		}
		if len(code) == 0 || depth > 0 && !outers[depth-1].container {
			continue
		}
		searched += len(code)
		d, role := l.match(string(code), len(line) > maxColumns)
		if role == "" || role == "member" && (depth == 0 || !outers[depth-1].member(indent)) {
			continue
		}
		d.Line, d.Depth = n, depth
		all = append(all, d)
		if depth > 0 {
			outers[depth-1].inside = indent
		}
		outers = append(outers[:depth], outer{indent: indent, container: role == "container"})
	}
	return all
}

// match returns the declaration in a line, and its role; "": none. A name at the end of a cut line isn't one.
func (l *language) match(code string, cut bool) (d Declaration, role string) {
	for _, p := range l.patterns {
		if !slices.ContainsFunc(p.words, func(word string) bool { return strings.Contains(code, word) }) {
			continue
		}
		m := p.expression().FindStringSubmatchIndex(code)
		if m == nil {
			continue
		}
		last := len(m) - 2
		d = Declaration{Kind: roles[p.role], Name: strings.TrimSpace(code[m[last]:m[last+1]]), Minor: p.role == "minor"}
		if last > 2 {
			d.Kind = code[m[2]:m[3]]
		}
		if !slices.Contains(l.notNames, d.Name) && len(d.Name) <= maxName && !(cut && m[last+1] == len(code)) {
			return d, p.role
		}
	}
	return d, ""
}

// blank puts blanks in place of comments and texts in a line. open is the span that is open before the line; the one
// that is open after it is returned.
func (l *language) blank(line []byte, open *span) *span {
	for i := 0; i < len(line); {
		n := 1
		switch {
		case open == nil:
			if open = l.begin(line, i); open == nil {
				i++
				continue
			}
			n = len(open.begin)
		case open.escapes && line[i] == '\\':
			n = 2
		case open.end != "" && bytes.HasPrefix(line[i:], []byte(open.end)):
			n, open = len(open.end), nil
		}
		for ; n > 0 && i < len(line); n-- {
			line[i] = ' '
			i++
		}
	}
	if open != nil && open.inLine {
		return nil
	}
	return open
}

// begin returns the span that begins at a byte of a line. In the middle of a word or of a regular expression, /* is no
// comment.
func (l *language) begin(line []byte, at int) *span {
	if !l.begins[line[at]] {
		return nil
	}
	for i, s := range l.spans {
		if bytes.HasPrefix(line[at:], []byte(s.begin)) &&
			(s.begin != "/*" || at == 0 || strings.IndexByte(" \t(){},;=", line[at-1]) >= 0) {
			return &l.spans[i]
		}
	}
	return nil
}

// indentation returns the columns before the first character, with tabs of four.
func indentation(line []byte) (columns int) {
	for _, c := range line {
		switch c {
		case ' ':
			columns++
		case '\t':
			columns += 4
		default:
			return columns
		}
	}
	return columns
}
