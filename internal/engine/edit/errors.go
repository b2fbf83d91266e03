package edit

import (
	"errors"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/lazy"
)

// ErrEmptyOld reports that Old is empty.
var ErrEmptyOld = errors.New("the text to replace is empty")

// NotFoundError reports that Old is not in the text, and the closest match.
type NotFoundError struct {
	Nearest *Near    // nil: nothing is similar
	Hints   []string // probable mistakes in Old, in full sentences
}

func (e *NotFoundError) Error() string {
	parts := append([]string{"text to replace not found in the file."}, e.Hints...)
	switch {
	case e.Nearest != nil:
		parts = append(parts, e.Nearest.String())
	case len(e.Hints) == 0:
		parts = append(parts, "Read the file again and copy the text exactly.")
	}
	return strings.Join(parts, " ")
}

// AmbiguousError reports that Old matches in several places.
type AmbiguousError struct {
	Rung  Rung
	Count int   // number of places; counting stops at 1000
	Lines []int // where the first of them begin
}

// maxLinesNamed bounds the line numbers in an AmbiguousError.
const maxLinesNamed = 20

func ambiguous(text string, found []candidate) *AmbiguousError {
	e := &AmbiguousError{Rung: found[0].rung, Count: len(found)}
	for _, c := range found[:min(len(found), maxLinesNamed)] {
		e.Lines = append(e.Lines, lineAt(text, c.Start))
	}
	return e
}

func (e *AmbiguousError) Error() string {
	lines := strings.Trim(strings.ReplaceAll(fmt.Sprint(e.Lines), " ", ", "), "[]")
	if e.Count > len(e.Lines) {
		lines += ", …"
	}
	how := ""
	if e.Rung > LineEndings {
		how = fmt.Sprintf(", ignoring %v,", e.Rung)
	}
	return fmt.Sprintf("text to replace occurs%s %d times, at lines %s; add surrounding lines to make it unique", how,
		e.Count, lines)
}

// NoChangeError reports that the edit would not change the text.
type NoChangeError struct {
	Applied bool // Old is missing, and the lines of New occur exactly once: the edit was probably applied before
	Line    int  // where New already is; 0: Old and New are the same
}

func (e *NoChangeError) Error() string {
	switch {
	case e.Applied:
		return fmt.Sprintf("text to replace not found, and the new text is already there, at line %d: the edit seems "+
			"to be applied already; nothing was changed", e.Line)
	case e.Line > 0:
		return fmt.Sprintf("the text at line %d already is what the edit makes of it; nothing was changed", e.Line)
	}
	return "the old and the new text are the same; nothing was changed"
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
func (q query) missing(text string) error {
	q.Edit = unixLines(q.Edit)
	err := &NotFoundError{Nearest: nearest(text, q.Old, q.lines), Hints: hints(text, q.Old)}
	if line := q.appliedAt(text, err); line > 0 {
		return &NoChangeError{Applied: true, Line: line}
	}
	return err
}

// minApplied is how many nonblank characters New must have, with a letter or digit, to show that an edit was applied
// before. Shorter text, such as a brace or "return x", occurs in many files.
const minApplied = 10

// appliedAt returns the line at which New shows that the edit was applied before; 0 if it wasn't. New must occur once,
// as whole lines, and nothing else may be similar to Old.
func (q query) appliedAt(text string, err *NotFoundError) int {
	lines := strings.TrimRight(strings.TrimLeft(q.New, "\n"), " \t\n")
	bare := strings.Join(strings.Fields(lines), "")
	if len(err.Hints) > 0 || utf8.RuneCountInString(bare) < minApplied || !strings.ContainsFunc(bare, isWord) {
		return 0
	}
	found := occurrences(text, lines, true, func(p Place) bool {
		before, after := strings.TrimRight(text[:p.Start], " \t"), strings.TrimLeft(text[p.End:], " \t")
		return startsLine(before, len(before)) && endsLine(after, 0)
	})
	if len(found) != 1 {
		return 0
	}
	line := lineAt(text, found[0].Start)
	if n := err.Nearest; n != nil && (n.Last < line || n.First > line+strings.Count(lines, "\n")) {
		return 0
	}
	if q.All { // looser rungs were not tried
		if q.All = false; len(q.search(text)) > 0 {
			return 0
		}
	}
	return line
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

// lineNumber matches "12→", "12:", "12|" or "12<tab>" at the start of a line.
var lineNumber = lazy.Regexp(`(?m)^ *\d+(?:→|\t|: ?|\| ?)`)

// withoutLineNumbers removes the numbers of all lines, or nothing.
func withoutLineNumbers(old string) string {
	if len(lineNumber().FindAllString(old, -1)) < len(linesOf(old)) {
		return old
	}
	return lineNumber().ReplaceAllString(old, "")
}

func unescape(old string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`, `\\`, `\`).Replace(old)
}
