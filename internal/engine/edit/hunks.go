package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/engine/humanize"
)

// ApplyHunks finds the places of all hunks in a text, as whole lines, on the rungs of [Find]. Hunks are in the order of
// their places. If several places fit, the lines of Scopes decide, and then the order; they never guess. The error is a
// *[PatchError] or a *[NoChangeError].
func ApplyHunks(text string, hunks []Hunk) (Result, error) {
	if len(hunks) == 0 { // the file is only moved
		return Result{}, nil
	}
	found := make([][]candidate, len(hunks))
	for i, h := range hunks {
		var err error
		if found[i], err = h.places(text); err != nil {
			return Result{}, &PatchError{h.Line, err}
		}
	}
	if i := inSequence(found); i >= 0 {
		var err error = ambiguous(text, found[i])
		if len(found[i]) == 1 {
			err = errOutOfOrder
		}
		return Result{}, &PatchError{hunks[i].Line, err}
	}
	return together(text, found)
}

var (
	errOutOfOrder = errors.New("the part overlaps another one, or comes before it in the file. Join them, or put " +
		"them in the order of the file")
	errOnlyAdds = errors.New("the part only adds lines, so its place isn't known. Add a line of the file before or " +
		"after them, with a space before it")
)

// places returns where a hunk fits.
func (h Hunk) places(text string) ([]candidate, error) {
	q := query{Edit: Edit{Old: h.Old, New: h.New}, lines: true, atEnd: h.AtEnd, strict: h.exact}
	if h.Old != "" {
		found := q.search(text)
		if len(found) == 0 {
			return nil, q.missing(text)
		}
		return h.inScope(text, found)
	}
	if len(h.Scopes) > 0 {
		return nil, errOnlyAdds
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		q.New = "\n" + strings.TrimSuffix(q.New, "\n")
	}
	return []candidate{{Place: Place{Start: len(text), End: len(text)}, edit: &q.Edit}}, nil
}

// inScope returns the places after the lines of the hunk's scopes: those in the block that each begins, or if none are,
// all of them.
func (h Hunk) inScope(text string, found []candidate) ([]candidate, error) {
	from, to := 0, len(text)
	for _, scope := range h.Scopes {
		start, end, count := scopeOf(text[from:to], scope)
		if count == 0 {
			return nil, &NotFoundError{Hints: []string{fmt.Sprintf("The @@ line names %q, which no line begins with. "+
				"Copy the whole line, or omit its text.", humanize.Cut(scope, maxQuoted))}}
		}
		if count > 1 {
			break // it doesn't decide
		}
		from, to = from+start, from+end
	}
	for _, end := range []int{to, len(text)} {
		outside := func(c candidate) bool { return c.Start < from || c.Start >= end }
		within := slices.DeleteFunc(slices.Clone(found), outside)
		if len(within) > 0 {
			return within, nil
		}
	}
	return nil, &NotFoundError{Hints: []string{fmt.Sprintf("It is at line %d, before the line that @@ names. Read the "+
		"file again, or omit the @@ line's text.", lineAt(text, found[0].Start))}}
}

// scopeOf returns the block that the only line like scope begins: up to the next line that is indented no deeper and
// begins with a letter. count is how many lines are like scope, or else begin with its words.
func scopeOf(text, scope string) (start, end, count int) {
	scope = strings.TrimSpace(scope)
	whole := slices.ContainsFunc(linesOf(text), func(line string) bool { return strings.TrimSpace(line) == scope })
	at, indent := 0, 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		bare := strings.TrimSpace(line)
		own := len(line) - len(strings.TrimLeft(line, " \t"))
		rest, found := strings.CutPrefix(bare, scope)
		switch {
		case found && (rest == "" || !whole && !startsWord(rest)):
			count++
			start, end, indent = at, len(text), own
		case count > 0 && end == len(text) && own <= indent && startsWord(bare):
			end = at
		}
		at += len(line)
	}
	return start, end, count
}

func startsWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && (r == '_' || r >= utf8.RuneSelf || isWord(r))
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// inSequence leaves each hunk the only place it can have if places follow each other without overlaps. It returns the
// hunk that could be in several places, or in none; -1 without one.
func inSequence(found [][]candidate) (undecided int) {
	first, at := make([]int, len(found)), 0
	for i, list := range found {
		first[i] = slices.IndexFunc(list, func(c candidate) bool { return c.Start >= at })
		if first[i] < 0 {
			return i
		}
		at = list[first[i]].End
	}
	for i := len(found) - 1; i >= 0; i-- {
		list := found[i]
		if k := first[i] + 1; k < len(list) && (i == len(found)-1 || list[k].End <= found[i+1][0].Start) {
			return i
		}
		found[i] = list[first[i] : first[i]+1]
	}
	return -1
}
