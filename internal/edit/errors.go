package edit

import (
	"errors"
	"fmt"
	"strings"
)

// ErrEmptyOld says that Old is empty.
var ErrEmptyOld = errors.New("the text to replace is empty")

// NotFoundError says that Old is not in the text, and what the closest match is.
type NotFoundError struct {
	Nearest *Near    // nil: nothing is similar
	Hints   []string // what is probably wrong with Old, in full sentences
}

func (e *NotFoundError) Error() string {
	var b strings.Builder
	b.WriteString("old_string not found in the file.")
	for _, h := range e.Hints {
		b.WriteString(" " + h)
	}
	switch {
	case e.Nearest != nil:
		b.WriteString(" " + e.Nearest.String())
	case len(e.Hints) == 0:
		b.WriteString(" Read the file again and copy the text exactly.")
	}
	return b.String()
}

// AmbiguousError says that Old fits in several places.
type AmbiguousError struct {
	Rung  Rung
	Count int   // how many places; counting stops at 1000 on relaxed rungs
	Lines []int // where the first of them begin
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
		fmt.Fprintf(&b, "old_string occurs %d times, at lines ", e.Count)
	} else {
		fmt.Fprintf(&b, "old_string not found as given; ignoring %v it matches %d places, at lines ", e.Rung, e.Count)
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
	if e.Rung <= LineEndings {
		b.WriteString(", or set replace_all to change them all")
	}
	return b.String()
}

// NoChangeError says that the edit would leave the text as it is.
type NoChangeError struct {
	Applied bool // Old is not there, and the lines of New are, exactly once: the edit was probably made before
	Line    int  // where what is wanted already stands; 0: Old and New are the same
}

func (e *NoChangeError) Error() string {
	switch {
	case e.Applied:
		return fmt.Sprintf("old_string not found, and new_string is already there, at line %d: the edit seems to be applied already; nothing was changed", e.Line)
	case e.Line > 0:
		return fmt.Sprintf("the text at line %d already is what new_string makes of it; nothing was changed", e.Line)
	}
	return "old_string and new_string are the same; nothing was changed"
}

// BatchError says which of several edits failed. No edits were made.
type BatchError struct {
	Index int // from 0
	Err   error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("edits[%d]: %v\nNo edits were made.", e.Index, e.Err)
}

func (e *BatchError) Unwrap() error { return e.Err }
