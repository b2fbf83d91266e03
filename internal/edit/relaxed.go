package edit

import (
	"strings"
)

// maxTried bounds how many look-alikes a rung examines, so that a text of a million equal lines cannot make it slow.
const maxTried = 10_000

// maxPlaces bounds how many places an ambiguous rung counts.
const maxPlaces = 1000

// candidate is a place on a relaxed rung, with the edit in the words of that place.
type candidate struct {
	place Place
	edit  Edit
}

// findRelaxed tries the rungs from TrailingBlanks on. No places and no error means: not there.
func findRelaxed(text string, e Edit) (Match, error) {
	for _, rung := range []Rung{TrailingBlanks, Typography, Indentation} {
		found := candidates(text, e, rung)
		if len(found) == 0 {
			continue
		}
		if len(found) > 1 {
			places := make([]Place, len(found))
			for i, c := range found {
				places[i] = c.place
			}
			return Match{}, ambiguous(text, places, rung)
		}
		if line := doneAt(text, e.New, found[0].place); line > 0 {
			return Match{}, &NoChangeError{Line: line}
		}
		return matchAt(text, []Place{found[0].place}, found[0].edit, rung), nil
	}
	return Match{}, nil
}

// doneAt is the line on which new stands around place, if that is the only place of new; 0 if not.
func doneAt(text, new string, place Place) int {
	if strings.TrimSpace(new) == "" {
		return 0
	}
	places := occurrences(text, new, false)
	if len(places) != 1 || places[0].Start > place.Start || place.End > places[0].End {
		return 0
	}
	numberLines(text, places)
	return places[0].Line
}

func candidates(text string, e Edit, rung Rung) []candidate {
	switch rung {
	case TrailingBlanks:
		return looksAlike(text, e, trailing)
	case Typography:
		return looksAlike(text, e, trailing|typography)
	default:
		return reindented(text, e)
	}
}

// looksAlike finds the places that equal e.Old after both were brought to normal form.
func looksAlike(text string, e Edit, f forgiven) []candidate {
	e, toLineEnd := settleEnd(e, f)
	have, old := normalise(text, f), normalise(e.Old, f)
	if strings.TrimSpace(old.text) == "" || have.text == text && old.text == e.Old && !toLineEnd {
		return nil
	}
	// A first line of blanks stands for a blank line: without this it would be found at the end of any line.
	fromLineStart := strings.HasPrefix(old.text, "\n") && !strings.HasPrefix(e.Old, "\n")
	var found []candidate
	for at, tried := 0, 0; tried < maxTried && len(found) < maxPlaces; tried++ {
		i := strings.Index(have.text[at:], old.text)
		if i < 0 {
			break
		}
		start, end := at+i, at+i+len(old.text)
		at = start + 1
		if fromLineStart && !startsLine(have.text, start) || toLineEnd && !endsLine(have.text, end) {
			continue
		}
		found = append(found, candidate{Place{Start: have.start(start), End: have.end(end)}, e})
	}
	if start, ok := atEnd(have.text, old.text); ok && !toLineEnd && (!fromLineStart || startsLine(have.text, start)) {
		e.Old, e.New = strings.TrimSuffix(e.Old, "\n"), strings.TrimSuffix(e.New, "\n")
		found = append(found, candidate{Place{Start: have.start(start), End: have.end(len(have.text))}, e})
	}
	return found
}

// settleEnd takes the blanks off the end of Old, and off New where it ends with the same. They stood for the end of a
// line, and the place must end at one: otherwise "foo " would be found in "foobar".
func settleEnd(e Edit, f forgiven) (settled Edit, toLineEnd bool) {
	old := trimBlanks(e.Old, f)
	blanks := e.Old[len(old):]
	if blanks == "" {
		return e, false
	}
	e.Old, e.New = old, strings.TrimSuffix(e.New, blanks)
	return e, true
}

func startsLine(s string, at int) bool { return at == 0 || s[at-1] == '\n' }

func endsLine(s string, at int) bool { return at == len(s) || s[at] == '\n' }

// atEnd is where old, but for its final newline, ends a text that has none.
func atEnd(text, old string) (start int, ok bool) {
	want, ok := strings.CutSuffix(old, "\n")
	return len(text) - len(want), ok && !strings.HasSuffix(text, "\n") && strings.HasSuffix(text, want)
}
