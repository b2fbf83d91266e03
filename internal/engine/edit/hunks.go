package edit

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/adze-dev/adze/internal/engine/sorted"
)

// HunkError is the error of one hunk of a file. Nothing was changed.
type HunkError struct {
	Hunk Hunk
	Err  error
}

func (e *HunkError) Error() string { return (&PatchError{e.Hunk.Line, e.Err}).Error() }

func (e *HunkError) Unwrap() error { return e.Err }

// ApplyHunks finds the places of all hunks in a text, as whole lines, on the rungs of [Find]. Hunks are in the order of
// their places. If several places fit, the lines of Scopes decide, and then the order; they never guess. The error is a
// *[HunkError] or a *[NoChangeError].
func ApplyHunks(text string, hunks []Hunk) (Result, error) {
	found := make([][]candidate, len(hunks))
	rungs := make([]Rung, len(hunks))
	for i, h := range hunks {
		var err error
		if found[i], rungs[i], err = h.places(text); err != nil {
			return Result{}, &HunkError{h, err}
		}
	}
	if i := inSequence(found); i >= 0 {
		return Result{}, &HunkError{hunks[i], undecided(text, found[i], rungs[i])}
	}
	var r Result
	for i, c := range found {
		m := matchAt(text, []Place{c[0].place}, c[0].edit, rungs[i])
		r.Matches = append(r.Matches, m)
		r.Spans = append(r.Spans, m.Spans...)
	}
	sort.SliceStable(r.Spans, func(i, j int) bool { return r.Spans[i].Start < r.Spans[j].Start })
	if unchanged(text, r.Spans) {
		return Result{}, &NoChangeError{Dialect: Patch}
	}
	return r, nil
}

// undecided is the error of a hunk that fits several places, or only one where another hunk is.
func undecided(text string, found []candidate, rung Rung) error {
	if len(found) == 1 {
		return errOverlaps
	}
	places := make([]Place, len(found))
	for i, c := range found {
		places[i] = c.place
	}
	err := ambiguous(text, places, rung)
	err.Dialect = Patch
	return err
}

var errOverlaps = errors.New("the part overlaps another one, or comes before it in the file. Join them, or put them " +
	"in the order of the file")

var errOnlyAdds = errors.New("the part only adds lines, so its place isn't known. Add a line of the file before or " +
	"after them, with a space before it")

// places returns where a hunk fits.
func (h Hunk) places(text string) ([]candidate, Rung, error) {
	e := Edit{Old: h.Old, New: h.New}
	if h.Old == "" {
		if len(h.Scopes) > 0 {
			return nil, 0, errOnlyAdds
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			e.New = "\n" + strings.TrimSuffix(e.New, "\n")
		}
		return []candidate{{Place{Start: len(text), End: len(text)}, e}}, Exact, nil
	}
	for _, rung := range []Rung{Exact, LineEndings, TrailingBlanks, Typography, Indentation} {
		if rung > LineEndings {
			e = unixLines(e)
		}
		if found := h.fits(text, e, rung); len(found) > 0 {
			found, err := h.inScope(text, found)
			return found, rung, err
		}
	}
	return nil, 0, missing(text, unixLines(e), Patch)
}

// fits returns the places of e as whole lines on a rung.
func (h Hunk) fits(text string, e Edit, rung Rung) []candidate {
	var found []candidate
	if rung > LineEndings {
		found = candidates(text, e, rung)
		free(text)
	} else {
		if rung == LineEndings {
			e = unixLines(e)
		}
		found = wholeLines(text, e)
		if m := findAtEnd(text, e); len(m.Places) > 0 && !h.exact {
			e.Old, e.New = strings.TrimSuffix(e.Old, "\n"), strings.TrimSuffix(e.New, "\n")
			found = append(found, candidate{m.Places[0], e})
		}
	}
	return slices.DeleteFunc(found, func(c candidate) bool {
		return !startsLine(text, c.place.Start) || h.AtEnd && strings.TrimRight(text[c.place.End:], "\n") != ""
	})
}

// wholeLines returns all places of e.Old that begin a line, also those that overlap.
func wholeLines(text string, e Edit) []candidate {
	var found []candidate
	for at := 0; len(found) < maxPlaces; {
		i := strings.Index(text[at:], e.Old)
		if i < 0 {
			break
		}
		p := Place{Start: at + i, End: at + i + len(e.Old)}
		if startsLine(text, p.Start) && (strings.HasSuffix(e.Old, "\n") || p.End == len(text)) {
			found = append(found, candidate{p, e})
		}
		if at = p.Start + strings.IndexByte(text[p.Start:], '\n') + 1; at <= p.Start {
			break
		}
	}
	return found
}

// inScope returns the places after the lines of the hunk's scopes: those in the block that each begins, or if none are,
// all of them.
func (h Hunk) inScope(text string, found []candidate) ([]candidate, error) {
	from, to := 0, len(text)
	for _, scope := range h.Scopes {
		start, end, count := scopeOf(text[from:to], scope)
		if count == 0 {
			return nil, missing(text, Edit{Old: scope}, Patch)
		}
		if count > 1 {
			break // it doesn't decide
		}
		from, to = from+start, from+end
	}
	within := func(to int) []candidate {
		return slices.DeleteFunc(slices.Clone(found), func(c candidate) bool {
			return c.place.Start < from || c.place.Start >= to
		})
	}
	if inside := within(to); len(inside) > 0 {
		return inside, nil
	}
	if after := within(len(text)); len(after) > 0 {
		return after, nil
	}
	return nil, &ScopeError{h.Scopes[len(h.Scopes)-1], 1 + strings.Count(text[:found[0].place.Start], "\n")}
}

// ScopeError reports that a hunk only fits before the line that it should follow.
type ScopeError struct {
	Scope string
	Line  int // where it fits
}

func (e *ScopeError) Error() string {
	return fmt.Sprintf("old text is at line %d, before the line %q, which @@ names. Read the file again, or omit the "+
		"@@ line's text", e.Line, e.Scope)
}

// scopeOf returns the block that the only line like scope begins: up to the next line that is indented no deeper and
// begins with a letter or a digit. count is how many lines are like scope.
func scopeOf(text, scope string) (start, end, count int) {
	at, indent := 0, 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		bare := strings.TrimSpace(line)
		own := len(line) - len(strings.TrimLeft(line, " \t"))
		switch {
		case bare == strings.TrimSpace(scope):
			count++
			start, end, indent = at, len(text), own
		case count > 0 && end == len(text) && bare != "" && own <= indent && isWord(bare[0]):
			end = at
		}
		at += len(line)
	}
	return start, end, count
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// inSequence leaves each hunk the only place it can have if places follow each other without overlaps. It returns the
// hunk that could be in several places, or in none; -1: there is none.
func inSequence(found [][]candidate) (undecided int) {
	if alone(found) {
		return -1
	}
	first := make([]candidate, len(found))
	at := 0
	for i, list := range found {
		k := slices.IndexFunc(list, func(c candidate) bool { return c.place.Start >= at })
		if k < 0 {
			return i
		}
		first[i], at = list[k], list[k].place.End
	}
	for i := len(found) - 1; i >= 0; i-- {
		list := found[i]
		k := len(list) - 1
		for i < len(found)-1 && list[k].place.End > found[i+1][0].place.Start {
			k-- // it ends at first[i] at the latest
		}
		if list[k].place != first[i].place {
			return i
		}
		found[i] = list[k : k+1]
	}
	return -1
}

// alone reports whether each hunk has only one place, and none overlaps another: then their order doesn't matter.
func alone(found [][]candidate) bool {
	var places []Place
	for _, list := range found {
		if len(list) != 1 {
			return false
		}
		places = append(places, list[0].place)
	}
	sorted.By(places, func(a, b Place) int { return a.Start - b.Start })
	for i := range places[min(1, len(places)):] {
		if places[i].End > places[i+1].Start {
			return false
		}
	}
	return true
}
