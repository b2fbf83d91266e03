package edit

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"strings"
	"unicode"
)

// ErrEmptyOld reports that Old is empty.
var ErrEmptyOld = errors.New("the text to replace is empty")

// Dialect is how an edit was written, for the words of errors: what it calls the text that it replaces.
type Dialect string

// The dialects.
const (
	Replacement Dialect = "old_string"
	Patch       Dialect = "old text"
)

func (d Dialect) old() string { return string(cmp.Or(d, Replacement)) }

func (d Dialect) new() string { return "new" + strings.TrimPrefix(d.old(), "old") }

// NotFoundError reports that Old is not in the text, and the closest match.
type NotFoundError struct {
	Nearest *Near    // nil: nothing is similar
	Hints   []string // probable mistakes in Old, in full sentences
	Dialect Dialect
}

func (e *NotFoundError) Error() string {
	var b strings.Builder
	b.WriteString(e.Dialect.old() + " not found in the file.")
	for _, h := range e.Hints {
		b.WriteString(" " + h)
	}
	switch {
	case e.Nearest != nil:
		b.WriteString(" " + e.Nearest.in(e.Dialect))
	case len(e.Hints) == 0:
		b.WriteString(" Read the file again and copy the text exactly.")
	}
	return b.String()
}

// AmbiguousError reports that Old matches in several places.
type AmbiguousError struct {
	Rung    Rung
	Count   int   // number of places; counting stops at 1000 on relaxed rungs
	Lines   []int // where the first of them begin
	Dialect Dialect
}

// maxLinesNamed bounds the line numbers in an AmbiguousError.
const maxLinesNamed = 20

func ambiguous(text string, places []Place, rung Rung) *AmbiguousError {
	e := &AmbiguousError{Rung: rung, Count: len(places)}
	places = places[:min(len(places), maxLinesNamed)]
	numberLines(text, places)
	for _, p := range places {
		e.Lines = append(e.Lines, p.Line)
	}
	return e
}

func (e *AmbiguousError) Error() string {
	var b strings.Builder
	if e.Rung == Exact || e.Rung == LineEndings {
		fmt.Fprintf(&b, "%s occurs %d times, at lines ", e.Dialect.old(), e.Count)
	} else {
		fmt.Fprintf(&b, "%s not found as given; ignoring %v it matches %d places, at lines ", e.Dialect.old(), e.Rung,
			e.Count)
	}
	for i, n := range e.Lines {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	if e.Count > len(e.Lines) {
		b.WriteString(", …")
	}
	b.WriteString("; add surrounding lines to make it unique")
	if e.Dialect == Patch {
		b.WriteString(`, or name the function they are in: "@@ func name() {"`)
	} else if e.Rung <= LineEndings {
		b.WriteString(", or set replace_all to change them all")
	}
	return b.String()
}

// NoChangeError reports that the edit would not change the text.
type NoChangeError struct {
	Applied bool // Old is missing, and the lines of New occur exactly once: the edit was probably applied before
	Line    int  // where New already is; 0: Old and New are the same
	Dialect Dialect
}

func (e *NoChangeError) Error() string {
	switch {
	case e.Applied:
		return fmt.Sprintf("%s not found, and %s is already there, at line %d: the edit seems to be applied already; "+
			"nothing was changed", e.Dialect.old(), e.Dialect.new(), e.Line)
	case e.Line > 0:
		return fmt.Sprintf("the text at line %d already is what %s makes of it; nothing was changed", e.Line,
			e.Dialect.new())
	}
	return e.Dialect.old() + " and " + e.Dialect.new() + " are the same; nothing was changed"
}

// BatchError reports which of several edits failed. No edits were made.
type BatchError struct {
	Index int // from 0
	Err   error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("edits[%d]: %v\nNo edits were made.", e.Index, e.Err)
}

func (e *BatchError) Unwrap() error { return e.Err }

// missing returns the error for an edit whose Old was not found.
func missing(text string, e Edit, d Dialect) error {
	err := &NotFoundError{Nearest: nearest(text, e.Old, d == Patch), Hints: hints(text, e.Old), Dialect: d}
	if line := appliedAt(text, e, err); line > 0 {
		return &NoChangeError{Applied: true, Line: line, Dialect: d}
	}
	return err
}

// minApplied is how many nonblank characters New must have to show that an edit was applied before. Shorter text, such
// as a brace or "return x", occurs in many files.
const minApplied = 10

// appliedAt returns the line at which New shows that the edit was applied before; 0 if it wasn't. New must occur once,
// as whole lines, and nothing else may be similar to Old.
func appliedAt(text string, e Edit, err *NotFoundError) int {
	if len(err.Hints) > 0 {
		return 0
	}
	p, ok := onlyLines(text, e.New)
	if !ok {
		return 0
	}
	if n := err.Nearest; n != nil && (n.Last < p.Line || n.First > p.Line+strings.Count(text[p.Start:p.End], "\n")) {
		return 0
	}
	if e.All { // looser rungs were not tried
		if m, err := findRelaxed(text, e); err != nil || m.Places != nil {
			return 0
		}
	}
	return p.Line
}

// onlyLines returns where lines are in text with only whitespace beside them, if they occur exactly once and are long
// enough not to occur by chance.
func onlyLines(text, lines string) (Place, bool) {
	lines = strings.TrimRight(strings.TrimLeft(lines, "\n"), " \t\n")
	if !substantial(lines) {
		return Place{}, false
	}
	var found []Place
	for _, p := range occurrences(text, lines, true) {
		before := strings.TrimRight(text[:p.Start], " \t")
		after := strings.TrimLeft(text[p.End:], " \t")
		if startsLine(before, len(before)) && endsLine(after, 0) {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return Place{}, false
	}
	numberLines(text, found)
	return found[0], true
}

// substantial reports whether s has minApplied nonblank characters, including a letter or a digit.
func substantial(s string) bool {
	n, word := 0, false
	for _, r := range s {
		if !unicode.IsSpace(r) {
			n++
		}
		word = word || unicode.IsLetter(r) || unicode.IsDigit(r)
		if n >= minApplied && word {
			return true
		}
	}
	return false
}

// hints names mistakes in Old after whose correction it would match. They are named, not corrected: New has them too,
// and its correction would be a guess.
func hints(text, old string) []string {
	var found []string
	for _, h := range []struct {
		repaired string
		hint     string
	}{
		{withoutLineNumbers(old), "Its lines begin with line numbers, which are not part of the file."},
		{unescape(old), `It matches with \n, \t, \" and \\ unescaped: it was escaped once too often.`},
		{html.UnescapeString(old), "It matches with HTML entities such as &lt; decoded."},
	} {
		if h.repaired != old && strings.TrimSpace(h.repaired) != "" && strings.Contains(text, h.repaired) {
			found = append(found, h.hint)
		}
	}
	return found
}

// withoutLineNumbers removes "12→", "12:", "12|" or "12<tab>" from every line, or nothing.
func withoutLineNumbers(old string) string {
	var b strings.Builder
	for _, line := range linesOf(old) {
		rest := strings.TrimLeft(line, " ")
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		rest = rest[digits:]
		cut := false
		for _, mark := range []string{"→", "\t", ": ", ":", "| ", "|"} {
			if after, ok := strings.CutPrefix(rest, mark); ok && digits > 0 {
				rest, cut = after, true
				break
			}
		}
		if !cut {
			return old
		}
		b.WriteString(rest)
	}
	return b.String()
}

func unescape(old string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`, `\\`, `\`).Replace(old)
}
