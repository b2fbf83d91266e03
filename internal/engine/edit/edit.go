// Package edit finds the one place where a replacement applies, and shows what a change changes.
//
//	m, err := edit.Find(text, edit.Edit{Old: "colour", New: "color"})
//	after := m.Apply(text)
//	fmt.Print(edit.Compare(text, after).Unified("Current", "Proposed"))
//
// It works on text as a model sees it, with "\n" line endings, and returns spans of that text; it doesn't know how the
// text is stored in a file. It never guesses: a place must be the only one, and the result says how exactly it matches.
package edit

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
)

// Edit replaces Old by New: at its only place, or with All at every place. Both are literal.
type Edit struct {
	Old, New string
	All      bool
}

// Rung is how loosely Old matches. Each rung ignores everything that the earlier ones ignore.
type Rung int

// The rungs, in the order they are tried.
const (
	// Exact: Old occurs literally.
	Exact Rung = iota
	// LineEndings: "\r\n" in Old or New was read as "\n", or the last line of the text has no newline and Old does.
	LineEndings
	// TrailingBlanks: spaces and tabs at the end of lines differ.
	TrailingBlanks
	// Typography: one side has typographic quotes, dashes and spaces, and the other plain ones.
	Typography
	// Indentation: whole lines whose indentation differs by one rule; New was re-indented to match.
	Indentation
)

// String names what was ignored, to follow "matched after ignoring".
func (r Rung) String() string {
	return [...]string{"nothing", "line endings", "trailing blanks", "typographic characters", "indentation"}[r]
}

// ignored is what the normal form of a rung ignores; 0: texts are compared as they are.
func (r Rung) ignored() forgiven {
	return [...]forgiven{0, 0, trailing, trailing | typography, trailing | typography | leading}[r]
}

// Span replaces text[Start:End] with New.
type Span struct {
	Start, End int
	New        string
}

// Place is where Old was found: text[Start:End], which begins on the given line, counted from 1.
//
// On a relaxed rung the place reaches from the first to the last character of Old. It includes whitespace at the end of
// its inner lines, but not after its last character. On the Indentation rung it begins at the start of its first line.
type Place struct {
	Start, End, Line int
}

// Match is a found edit.
//
// Spans are inside the places and usually narrower: common lines of Old and New, and common characters at the ends of
// the rest, are not replaced. So on a relaxed rung, text that the edit doesn't change keeps its own whitespace, quotes
// and indentation, and in a file with mixed line endings unchanged lines keep theirs.
type Match struct {
	Rung   Rung
	Places []Place
	Spans  []Span // in order, not overlapping, on character boundaries
}

// Apply makes the replacements of a Match found in text.
func (m Match) Apply(text string) string { return Splice("", text, m.Spans) }

// Splice returns the text after replacements in order, with start before it.
func Splice(start, text string, spans []Span) string {
	var b strings.Builder
	b.Grow(len(start) + len(text) + grown(spans))
	b.WriteString(start)
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.Start])
		b.WriteString(s.New)
		at = s.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// grown is how much longer a text is after replacements.
func grown(spans []Span) int {
	n := 0
	for _, s := range spans {
		n += len(s.New) - (s.End - s.Start)
	}
	return n
}

// Find looks for e.Old in text, rung by rung, and returns the first rung with exactly one place. A rung with several
// places ends the search: a looser one could only have more. With e.All every place counts, and only Exact and
// LineEndings are tried.
//
// The error is [ErrEmptyOld], a *[NotFoundError], an *[AmbiguousError] or a *[NoChangeError].
func Find(text string, e Edit) (Match, error) {
	if e.Old == "" {
		return Match{}, ErrEmptyOld
	}
	if e.Old == e.New {
		return Match{}, &NoChangeError{}
	}
	q := query{Edit: e}
	found := q.search(text)
	switch {
	case len(found) == 0:
		return Match{}, q.missing(text)
	case len(found) > 1 && !e.All:
		return Match{}, ambiguous(text, found)
	case found[0].rung > LineEndings:
		if line := doneAt(text, unixLines(e).New, found[0].Place); line > 0 {
			return Match{}, &NoChangeError{Line: line}
		}
	}
	m := matchAt(text, found)
	if len(m.Spans) == 0 {
		return Match{}, &NoChangeError{Line: m.Places[0].Line}
	}
	return m, nil
}

// query is an edit whose places are searched for.
type query struct {
	Edit
	lines  bool // a place is whole lines
	atEnd  bool // and at the end of the text
	strict bool // with its last line as it is written, with or without a newline
}

// candidate is a place, with the edit adapted to it.
type candidate struct {
	Place
	edit *Edit
	rung Rung
}

// search returns the places on the first rung that has some.
func (q query) search(text string) []candidate {
	last := Indentation
	if q.All {
		last = LineEndings
	}
	for rung := Exact; rung <= last; rung++ {
		e := q.Edit
		if rung > Exact || !strings.Contains(e.Old, "\r\n") {
			e = unixLines(e) // if Old has no "\r\n", that of New is a habit of the author: the file decides
		}
		var found []candidate
		if ignored := rung.ignored(); ignored != 0 {
			found = looksAlike(text, e, ignored)
			free(text)
		} else {
			found = q.literal(text, e, rung)
		}
		found = slices.DeleteFunc(found, func(c candidate) bool { return !q.fits(text, c.Place) })
		if rung == Exact && e.New != q.New {
			rung = LineEndings
		}
		for i := range found {
			found[i].rung = rung
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// literal returns the places that equal e.Old, or end a text without its newline.
func (q query) literal(text string, e Edit, rung Rung) (found []candidate) {
	for _, p := range occurrences(text, e.Old, e.All, func(p Place) bool { return q.fits(text, p) }) {
		found = append(found, candidate{Place: p, edit: &e})
	}
	start, ok := atEnd(text, e.Old)
	if ok && (q.lines && !q.strict || rung == LineEndings && len(found) == 0) && !strings.HasSuffix(text, "\n") {
		found = append(found, candidate{Place: Place{Start: start, End: len(text)}, edit: withoutEnd(e)})
	}
	return found
}

// fits reports whether a place is where the query needs it.
func (q query) fits(text string, p Place) bool {
	if !q.lines {
		return true
	}
	return startsLine(text, p.Start) && (p.End == len(text) || text[p.End-1] == '\n' || endsLine(text, p.End)) &&
		(!q.atEnd || strings.TrimRight(text[p.End:], "\n") == "")
}

// withoutEnd returns an edit for the end of a text that has no newline there.
func withoutEnd(e Edit) *Edit {
	e.Old, e.New = strings.TrimSuffix(e.Old, "\n"), strings.TrimSuffix(e.New, "\n")
	return &e
}

// unixLines returns e with the line endings of the text that models see.
func unixLines(e Edit) Edit {
	e.Old = strings.ReplaceAll(e.Old, "\r\n", "\n")
	e.New = strings.ReplaceAll(e.New, "\r\n", "\n")
	return e
}

// occurrences returns where old is in text and fits. With all, they don't overlap; otherwise it counts those that do
// too, because any could be meant.
func occurrences(text, old string, all bool, fits func(Place) bool) []Place {
	var places []Place
	step := 1
	if all {
		step = len(old)
	}
	for at := range each(text, old, step) {
		if p := (Place{Start: at, End: at + len(old)}); fits(p) {
			places = append(places, p)
		}
		if !all && len(places) == maxPlaces {
			break
		}
	}
	return places
}

// matchAt returns the match at places, each of which equals the Old of its edit apart from what the rung ignores. Of
// several, all change in the same way.
func matchAt(text string, found []candidate) Match {
	m := Match{Rung: found[0].rung}
	spans := narrow(text, found[0])
	line, at := 1, 0
	for _, c := range found {
		line += strings.Count(text[at:c.Start], "\n")
		at = c.Start
		m.Places = append(m.Places, Place{c.Start, c.End, line})
		for _, s := range spans {
			by := c.Start - found[0].Start
			m.Spans = append(m.Spans, Span{s.Start + by, s.End + by, s.New})
		}
	}
	return m
}

// lineAt returns the line of an offset, counted from 1.
func lineAt(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }

// Result is the result of several edits.
type Result struct {
	Spans   []Span  // the whole change as spans of the original text
	Matches []Match // one for each edit, found in the result of the one before
}

// Apply applies the edits one after the other, each to the result of the one before, or none of them. An error of one
// of several edits is a *[BatchError]; edits that undo each other are a *[NoChangeError].
func Apply(text string, edits []Edit) (Result, error) {
	var r Result
	now := text
	for i, e := range edits {
		m, err := Find(now, e)
		if err != nil {
			if len(edits) > 1 {
				err = &BatchError{Index: i, Err: err}
			}
			return Result{}, err
		}
		r.Spans = compose(r.Spans, now, m.Spans)
		r.Matches = append(r.Matches, m)
		if i < len(edits)-1 {
			now = m.Apply(now)
			free(now)
		}
	}
	if unchanged(text, r.Spans) {
		return Result{}, &NoChangeError{}
	}
	return r, nil
}

// together returns the result of edits at places in the same text that don't overlap.
func together(text string, found [][]candidate) (r Result, err error) {
	for _, places := range found {
		m := matchAt(text, places)
		r.Matches, r.Spans = append(r.Matches, m), append(r.Spans, m.Spans...)
	}
	slices.SortStableFunc(r.Spans, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	if unchanged(text, r.Spans) {
		return Result{}, &NoChangeError{}
	}
	return r, nil
}

// unchanged reports whether spans don't change the text.
func unchanged(text string, spans []Span) bool {
	if len(spans) < 2 {
		return len(spans) == 0 || text[spans[0].Start:spans[0].End] == spans[0].New
	}
	return grown(spans) == 0 && Splice("", text, spans) == text
}

// Large is the size of a text that shouldn't be in memory more often than necessary.
const Large = 4 << 20

// free frees the memory of earlier forms of a large text, so that the next one doesn't need more.
func free(text string) {
	if len(text) > Large {
		runtime.GC()
	}
}

// compose returns the spans with the effect of first and then second. second are spans of between, the result of first.
// Adjacent spans are joined.
func compose(first []Span, between string, second []Span) []Span {
	if len(first) == 0 {
		return second
	}
	type part struct {
		Span        // of between
		grown  int  // how much longer it made the original
		second bool // it is replaced
	}
	var parts []part
	shift := 0 // offset of between relative to the original
	for _, s := range first {
		n := grown([]Span{s})
		parts = append(parts, part{Span: Span{Start: s.Start + shift, End: s.End + shift + n}, grown: n})
		shift += n
	}
	for _, s := range second {
		parts = append(parts, part{Span: s, second: true})
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.Start, b.Start) })
	var out []Span
	shift = 0
	for len(parts) > 0 {
		start, end, before := parts[0].Start, parts[0].End, shift
		var inside []Span
		for ; len(parts) > 0 && parts[0].Start <= end; parts = parts[1:] {
			p := parts[0]
			if end, shift = max(end, p.End), shift+p.grown; p.second {
				inside = append(inside, Span{p.Start - start, p.End - start, p.New})
			}
		}
		out = append(out, Span{start - before, end - shift, Splice("", between[start:end], inside)})
	}
	return out
}
