package edit

import (
	"strings"
	"unicode"
)

// missing is the error for an edit whose Old was not found.
func missing(text string, e Edit) error {
	err := &NotFoundError{Nearest: nearest(text, e.Old), Hints: hints(text, e.Old)}
	if line := appliedAt(text, e, err); line > 0 {
		return &NoChangeError{Applied: true, Line: line}
	}
	return err
}

// minApplied is how many characters, blanks aside, New must have to show that an edit was made. Less than that, such as a
// brace or "return x", stands in many files by chance.
const minApplied = 10

// appliedAt is the line at which New shows that the edit was made before; 0 if it does not. New must be there once, as
// whole lines, and nothing elsewhere may be what Old was meant to name.
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
	if e.All { // on looser rungs it was not looked for
		if m, err := findRelaxed(text, e); err != nil || m.Places != nil {
			return 0
		}
	}
	return p.Line
}

// onlyLines is where lines stand in text with nothing but blanks beside them, if they stand there exactly once and are
// long enough to stand there for a reason.
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

// substantial reports whether s has minApplied characters that are not blanks, with a letter or a digit among them.
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
