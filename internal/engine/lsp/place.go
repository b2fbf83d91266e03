package lsp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/outline"
)

// spot is where a name is in a text.
type spot struct {
	line, nth int    // both from 1: the line, and which of the same names in it
	text      string // the line
	at        int    // where the last identifier of the name begins
}

func (s spot) position() Position { return Position{s.line - 1, units(s.text[:s.at])} }

// position returns the place that a question is about.
func (c *client) position(ctx context.Context, d *document, q Question) (Position, error) {
	here, all := find(d, q)
	switch {
	case len(all) == 0:
		return Position{}, fmt.Errorf("%q is nowhere in the file", q.Name)
	case len(here) == 0:
		return Position{}, fmt.Errorf("%q is not in line %d. It is here:\n%s", q.Name, q.Line, listed(all, q.Name))
	case len(here) > 1 && !c.same(ctx, d, here):
		return Position{}, fmt.Errorf("%q is ambiguous. Pass the line and the name of one of these:\n%s", q.Name,
			listed(here, q.Name))
	}
	return here[0].position(), nil
}

// listed lists places, with what to ask for.
func listed(all []spot, name string) string {
	const most = 20
	var lines []string
	for _, s := range all[:min(len(all), most)] {
		text := humanize.Cut(strings.TrimSpace(s.text), 100)
		lines = append(lines, fmt.Sprintf("line %d, %s#%d: %s", s.line, name, s.nth, text))
	}
	return strings.Join(lines, "\n")
}

// same reports whether a name means the same thing in all places.
func (c *client) same(ctx context.Context, d *document, all []spot) bool {
	var first []Found
	for i, s := range all {
		params := map[string]any{"textDocument": named(d.path), "position": s.position()}
		a, err := c.places(ctx, requests[Definition][0], params, "")
		if err != nil || i == 8 || len(a.Found) == 0 || i > 0 && !slices.Equal(a.Found, first) {
			return false
		}
		first = a.Found
	}
	return true
}

// numbered splits a name like "x.Open#2".
func numbered(name string) (text string, nth int) {
	if i := strings.LastIndexByte(name, '#'); i > 0 {
		if n, err := strconv.Atoi(name[i+1:]); err == nil {
			return name[:i], n
		}
	}
	return name, 0
}

// identifier returns the last identifier in a name.
func identifier(name string) string {
	name, _ = numbered(name)
	words := strings.FieldsFunc(name, notInName)
	return append([]string{""}, words...)[len(words)]
}

// find returns where a name is in a text. here are the places in the line of the question or, without one, those that
// declare the name.
func find(d *document, q Question) (here, all []spot) {
	name, nth := numbered(q.Name)
	lines := map[int]bool{q.Line: true}
	if q.Line == 0 {
		for _, one := range outline.Of(d.path, d.text) {
			lines[one.Line] = lines[one.Line] || one.Name == name || strings.HasSuffix(one.Name, " "+name)
		}
	}
	n := 0
	for text := range strings.Lines(d.text) {
		n++
		for i, s := range occurrences(text, name) {
			if s.line, s.nth = n, i+1; nth > 0 && s.nth != nth {
				continue
			}
			if all = append(all, s); lines[n] {
				here = append(here, s)
			}
		}
	}
	if q.Line == 0 && len(here) == 0 {
		here = all
	}
	return here, all
}

// occurrences returns where a name is in a line, as a whole word.
func occurrences(text, name string) (out []spot) {
	if identifier(name) == "" {
		return nil
	}
	last := strings.LastIndex(name, identifier(name))
	for i := range text {
		if rest, ok := strings.CutPrefix(text[i:], name); ok && apart(text[:i], name) && apart(name, rest) {
			out = append(out, spot{text: text, at: i + last})
		}
	}
	return out
}

// apart reports whether no identifier continues from one text to the next one.
func apart(text, next string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	first, _ := utf8.DecodeRuneInString(next)
	return notInName(last) || notInName(first)
}

// notInName reports whether a character isn't part of identifiers.
func notInName(r rune) bool {
	return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}
