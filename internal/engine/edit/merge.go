package edit

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Merge makes the changes from base to ours and from base to theirs in one text. ok is false if both changed the same
// or adjacent lines, unless they changed them equally.
func Merge(base, ours, theirs string) (merged string, ok bool) {
	lines, a, b := linesOf(base), linesOf(ours), linesOf(theirs)
	var out strings.Builder
	at := 0
	take := func(change lcs.Diff, from []string) {
		for _, line := range slices.Concat(lines[at:change.Start], from[change.ReplStart:change.ReplEnd]) {
			out.WriteString(line)
		}
		at = change.End
	}
	inA, inB := ChangedLines(lines, a), ChangedLines(lines, b)
	for len(inA)+len(inB) > 0 {
		switch {
		case len(inB) == 0 || len(inA) > 0 && inA[0].End < inB[0].Start:
			take(inA[0], a)
			inA = inA[1:]
		case len(inA) == 0 || inB[0].End < inA[0].Start:
			take(inB[0], b)
			inB = inB[1:]
		case inA[0].Start == inB[0].Start && inA[0].End == inB[0].End &&
			slices.Equal(a[inA[0].ReplStart:inA[0].ReplEnd], b[inB[0].ReplStart:inB[0].ReplEnd]):
			take(inA[0], a)
			inA, inB = inA[1:], inB[1:]
		default:
			return "", false
		}
	}
	for _, line := range lines[at:] {
		out.WriteString(line)
	}
	return out.String(), true
}
