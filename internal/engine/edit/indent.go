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
	var s shift
	switch {
	case strings.HasSuffix(first.have, first.old):
		s.put = strings.TrimSuffix(first.have, first.old)
	case strings.HasSuffix(first.old, first.have):
		s.cut = strings.TrimSuffix(first.old, first.have)
	default:
		return s, false
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
	s := shift{scale: true, den: 1}
	var ok1, ok2 bool
	s.from, ok1 = unitOf(pairs, func(p pair) string { return p.old })
	s.to, ok2 = unitOf(pairs, func(p pair) string { return p.have })
	if !ok1 || !ok2 {
		return s, false
	}
	lo, hi := pairs[0], pairs[0]
	for _, p := range pairs {
		if len(p.old) < len(lo.old) {
			lo = p
		}
		if len(p.old) > len(hi.old) {
			hi = p
		}
	}
	if len(lo.old) == len(hi.old) {
		lo = pair{}
	}
	s.num, s.den = len(hi.have)-len(lo.have), len(hi.old)-len(lo.old)
	if s.num <= 0 || s.den <= 0 || s.num%s.den != 0 && s.den%s.num != 0 {
		return s, false
	}
	s.add = len(lo.have)
	if len(lo.old)*s.num%s.den != 0 {
		return s, false
	}
	s.add -= len(lo.old) * s.num / s.den
	return s, s.turns(pairs)
}

// unitOf returns the one character that all indentation on one side consists of.
func unitOf(pairs []pair, side func(pair) string) (byte, bool) {
	var all strings.Builder
	for _, p := range pairs {
		all.WriteString(side(p))
	}
	for _, unit := range []byte(" \t") {
		if all.Len() > 0 && strings.Trim(all.String(), string(unit)) == "" {
			return unit, true
		}
	}
	return 0, false
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
