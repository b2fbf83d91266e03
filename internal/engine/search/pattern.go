package search

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Case is the case sensitivity of a search.
type Case int

const (
	Smart       Case = iota // case-insensitive if the pattern has no upper-case letter
	Sensitive               // case-sensitive
	Insensitive             // case-insensitive
)

// Query is a search pattern. The syntax is that of Go's package regexp (RE2); "\<" and "\>" are word boundaries.
type Query struct {
	Pattern    string
	Fixed      bool // the pattern is literal text
	Case       Case
	Multiline  bool // a match may span lines; otherwise it is within one
	DotNewline bool // with Multiline: "." matches line endings too
}

// Pattern is a compiled Query. It is safe for concurrent use.
type Pattern struct {
	// Notes describe differences from other engines, to be shown if nothing was found.
	Notes []string

	multiline bool
	crlf      bool           // "\r\n" ends a line like "\n"
	full      *regexp.Regexp // decides where the DFA is not exact, and finds the position in the line
	prog      *program
	lits      literals
	leads     literals // with Multiline: the beginnings of matches
	anchored  bool     // the pattern has \A, so a text must be searched from its beginning
	// finds a match after the first byte of a text, which is there for ^ and \b to look back at
	resume *regexp.Regexp
}

// Compile compiles a query. Its errors say what to write instead, for models and users.
func Compile(q Query) (*Pattern, error) {
	p := &Pattern{multiline: q.Multiline}
	source := q.Pattern
	flags := syntax.Perl &^ syntax.OneLine
	if q.Multiline && q.DotNewline {
		flags |= syntax.DotNL
	}
	if q.Fixed {
		flags |= syntax.Literal
	} else {
		if err := refuse(source); err != nil {
			return nil, err
		}
		source, p.Notes = translate(source)
	}
	if q.Case == Insensitive || (q.Case == Smart && !hasUpper(q.Pattern, q.Fixed)) {
		flags |= syntax.FoldCase
	}
	re, err := syntax.Parse(source, flags)
	if err != nil {
		return nil, explain(q.Pattern, err)
	}
	if !q.Multiline {
		if re, err = withinLines(re); err != nil {
			return nil, err
		}
	}
	p.crlf = !mentionsCR(re)
	p.anchored = has(re, syntax.OpBeginText)
	if p.full, err = regexp.Compile(re.String()); err != nil {
		return nil, explain(q.Pattern, err)
	}
	if p.prog, err = newProgram(re); err != nil {
		return nil, explain(q.Pattern, err)
	}
	if q.Multiline && p.prog.empty != 0 {
		if p.resume, err = regexp.Compile(`(?s:\A.(?:.*?))(` + re.String() + `)`); err != nil {
			return nil, explain(q.Pattern, err)
		}
	}
	p.lits = required(re, p.crlf)
	if q.Multiline {
		p.leads = leading(re)
	}
	return p, nil
}

// Find returns the position of the first match in a text, for display; ok is false without one.
func (p *Pattern) Find(text string) (start, end int, ok bool) {
	loc := p.full.FindStringIndex(text)
	if loc == nil {
		return 0, 0, false
	}
	return loc[0], loc[1], true
}

// errNewline rejects a pattern that could only match across lines.
var errNewline = errors.New(`the pattern contains a line break ("\n") but matches lie within one line: set multiline, or search for the lines one by one`)

// withinLines rewrites an expression so that it never matches a newline, and ^ and $ match at lines instead of texts.
func withinLines(re *syntax.Regexp) (*syntax.Regexp, error) {
	switch re.Op {
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '\n') {
			return nil, errNewline
		}
	case syntax.OpCharClass:
		re = withoutNewline(re)
		if len(re.Rune) == 0 {
			return nil, errNewline
		}
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op, re.Flags = syntax.OpEndLine, re.Flags&^syntax.WasDollar
	}
	for i, sub := range re.Sub {
		s, err := withinLines(sub)
		if err != nil {
			return nil, err
		}
		re.Sub[i] = s
	}
	return re, nil
}

func withoutNewline(re *syntax.Regexp) *syntax.Regexp {
	out := *re
	out.Rune = nil
	for i := 0; i < len(re.Rune); i += 2 {
		lo, hi := re.Rune[i], re.Rune[i+1]
		if lo <= '\n' && '\n' <= hi {
			if lo < '\n' {
				out.Rune = append(out.Rune, lo, '\n'-1)
			}
			if hi > '\n' {
				out.Rune = append(out.Rune, '\n'+1, hi)
			}
			continue
		}
		out.Rune = append(out.Rune, lo, hi)
	}
	return &out
}

func has(re *syntax.Regexp, op syntax.Op) bool {
	return re.Op == op || slices.ContainsFunc(re.Sub, func(s *syntax.Regexp) bool { return has(s, op) })
}

// mentionsCR reports whether a carriage return is named explicitly, as in `\r$`, and not only as one of many.
func mentionsCR(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '\r') {
			return true
		}
	case syntax.OpCharClass:
		if slices.Contains(re.Rune, '\r') && len(re.Rune) <= 4 { // [\r], [\r\n], [\rx]
			return true
		}
	}
	return slices.ContainsFunc(re.Sub, mentionsCR)
}

// hasUpper reports whether a pattern has a literal upper-case letter: those of \S, \pL and (?P<N>) don't count.
func hasUpper(pattern string, fixed bool) bool {
	if fixed {
		return strings.ContainsFunc(pattern, unicode.IsUpper)
	}
	for i := 0; i < len(pattern); {
		switch r, size := utf8.DecodeRuneInString(pattern[i:]); {
		case r == '\\':
			i += escapeLen(pattern[i:])
		case strings.HasPrefix(pattern[i:], "(?"):
			end := strings.IndexAny(pattern[i:], "):>")
			if end < 0 {
				return false
			}
			i += end
		case unicode.IsUpper(r):
			return true
		default:
			i += size
		}
	}
	return false
}

// escapeLen returns the length of the escape at the beginning of s: `\n`, `\pL`, `\p{Greek}`, `\x{1F600}`.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	if n := strings.IndexByte(s, '}'); n > 0 && len(s) > 2 && s[2] == '{' && strings.IndexByte("pPxu", s[1]) >= 0 {
		return n + 1
	}
	switch _, size := utf8.DecodeRuneInString(s[1:]); s[1] {
	case 'p', 'P':
		return min(3, len(s))
	case 'x':
		return min(4, len(s))
	case 'u':
		return min(6, len(s))
	default:
		return 1 + size
	}
}
