package edit

import (
	"slices"
	"strings"
)

// reindented returns e in the indentation of a place that equals e.Old apart from it; nil: no one rule turns the
// indentation of every line of Old, and of New, into that of the place.
func reindented(place string, e *Edit) *Edit {
	rule, ok := shiftOf(linesOf(place), linesOf(e.Old))
	if !ok {
		return nil
	}
	old, ok1 := rule.lines(e.Old)
	now, ok2 := rule.lines(e.New)
	if !ok1 || !ok2 {
		return nil
	}
	return &Edit{Old: old, New: now}
}

// shift is a rule for indentation. Either one prefix is replaced by another, or the depth is converted to other units:
// tabs for spaces, two spaces for four.
type shift struct {
	cut, put string // prefix rule; at most one of them is not empty
	scale    bool   // depth rule: depth*num/den + add, in units of to, from depths in units of from
	from, to byte
	num, den int
	add      int
}

// pair is the indentation of a line of Old and of the matching line.
type pair struct{ old, have string }

// shiftOf finds the rule that turns the indentation of each old line into that of the text's line, if there is one.
func shiftOf(have, old []string) (shift, bool) {
	pairs := make([]pair, 0, len(old))
	for i, line := range old {
		if !isBlankLine(line) {
			pairs = append(pairs, pair{indentOf(line), indentOf(have[i])})
		}
	}
	if s, ok := prefixShift(pairs); ok {
		return s, true
	}
	return depthShift(pairs)
}

func indentOf(line string) string {
	return line[:len(line)-len(trimIndent(line, typography))]
}

func isBlankLine(line string) bool {
	return trimBlanks(strings.TrimSuffix(line, "\n"), typography) == ""
}

func prefixShift(pairs []pair) (shift, bool) {
	first := pairs[0]
	put, ok := strings.CutSuffix(first.have, first.old)
	s := shift{put: put}
	if !ok {
		s = shift{cut: strings.TrimSuffix(first.old, first.have)}
	}
	return s, s.turns(pairs)
}

// turns reports whether the rule is right for all pairs.
func (s shift) turns(pairs []pair) bool {
	return !slices.ContainsFunc(pairs, func(p pair) bool {
		got, ok := s.indent(p.old)
		return !ok || got != p.have
	})
}

// depthShift solves have = old*num/den + add over all pairs. If Old has only one depth, the depths are assumed to be
// proportional.
func depthShift(pairs []pair) (shift, bool) {
	depth := func(a, b pair) int { return len(a.old) - len(b.old) }
	lo, hi := slices.MinFunc(pairs, depth), slices.MaxFunc(pairs, depth)
	if len(lo.old) == len(hi.old) {
		lo = pair{}
	}
	num, den := len(hi.have)-len(lo.have), len(hi.old)-len(lo.old)
	if num <= 0 || den <= 0 || num%den != 0 && den%num != 0 {
		return shift{}, false
	}
	s := shift{scale: true, from: hi.old[0], to: hi.have[0], num: num, den: den}
	s.add = len(lo.have) - len(lo.old)*num/den
	return s, s.turns(pairs)
}

// indent returns the indentation for old, if the rule has one.
func (s shift) indent(old string) (string, bool) {
	if !s.scale {
		rest, ok := strings.CutPrefix(old, s.cut)
		return s.put + rest, ok
	}
	if strings.Trim(old, string(s.from)) != "" || len(old)*s.num%s.den != 0 {
		return "", false
	}
	depth := len(old)*s.num/s.den + s.add
	if depth < 0 {
		return "", false
	}
	return strings.Repeat(string(s.to), depth), true
}

// lines re-indents every line of s that is not blank.
func (s shift) lines(text string) (string, bool) {
	var b strings.Builder
	for _, line := range linesOf(text) {
		if isBlankLine(line) {
			b.WriteString(line)
			continue
		}
		old := indentOf(line)
		indent, ok := s.indent(old)
		if !ok {
			return "", false
		}
		b.WriteString(indent)
		b.WriteString(line[len(old):])
	}
	return b.String(), true
}
