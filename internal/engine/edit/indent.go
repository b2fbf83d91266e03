package edit

import (
	"slices"
	"strings"
)

// maxShifted bounds the lines whose indentation is compared in one search.
const maxShifted = 5_000_000

// reindented finds the whole lines that equal e.Old apart from their indentation (and what earlier rungs ignore), where
// one rule turns the indentation of every line of Old, and of New, into that of the place.
func reindented(text string, e Edit) []candidate {
	const forgive = leading | trailing | typography
	e, toLineEnd := settleEnd(e, forgive)
	old, newline := strings.CutSuffix(e.Old, "\n")
	have, want := normalize(text, forgive), normalize(old, forgive).text
	if strings.TrimSpace(want) == "" || indexLines(have.text, 0, want) < 0 {
		return nil
	}
	starts, oldLines := lineStarts(text), linesOf(e.Old)
	var found []candidate
	line, counted, compared := 0, 0, 0
	for at, tried := 0, 0; tried < maxTried && compared < maxShifted && len(found) < maxPlaces; tried++ {
		i := indexLines(have.text, at, want)
		if i < 0 {
			break
		}
		end := i + len(want)
		line += strings.Count(have.text[counted:i], "\n")
		counted, at = i, i+1
		last := end == len(have.text) // the place is at the end of the text
		if newline && (last && strings.HasSuffix(text, "\n") || toLineEnd && !last && !endsLine(have.text, end+1)) {
			continue
		}
		compared += len(oldLines)
		edit, ok := shifted(text, starts[line:], oldLines, e)
		if !ok {
			continue
		}
		c := candidate{Place{Start: starts[line], End: endOfPlace(have, starts[line], end)}, &edit}
		switch {
		case newline && last:
			c.edit = withoutEnd(edit)
		case newline:
			c.End = starts[line+len(oldLines)]
		}
		found = append(found, c)
	}
	return found
}

// shifted returns e in the indentation of the lines of text that begin at starts.
func shifted(text string, starts []int, oldLines []string, e Edit) (Edit, bool) {
	rule, ok := shiftOf(text, starts, oldLines)
	if !ok {
		return e, false
	}
	var ok1, ok2 bool
	e.Old, ok1 = rule.lines(e.Old)
	e.New, ok2 = rule.lines(e.New)
	return e, ok1 && ok2
}

// endOfPlace returns the end in the original of what ends at offset end of the normal form. A blank last line is empty
// in the normal form: the place then ends where that line begins.
func endOfPlace(have normal, start, end int) int {
	if end == 0 {
		return start
	}
	return max(start, have.end(end))
}

// indexLines returns the offset, from at on, of lines as whole lines of s, or -1.
func indexLines(s string, at int, lines string) int {
	for {
		i := strings.Index(s[at:], lines)
		if i < 0 {
			return -1
		}
		at += i
		if startsLine(s, at) && endsLine(s, at+len(lines)) {
			return at
		}
		at++
	}
}

// lineStarts lists the offsets at which lines start, and then len(text).
func lineStarts(text string) []int {
	starts := make([]int, 1, strings.Count(text, "\n")+2)
	for i := 0; ; {
		n := strings.IndexByte(text[i:], '\n')
		if n < 0 {
			break
		}
		i += n + 1
		starts = append(starts, i)
	}
	return append(starts, len(text))
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
func shiftOf(text string, starts []int, oldLines []string) (shift, bool) {
	pairs := make([]pair, 0, len(oldLines))
	for i, old := range oldLines {
		have := text[starts[i]:starts[i+1]]
		if isBlankLine(old) {
			continue
		}
		pairs = append(pairs, pair{indentOf(old), indentOf(have)})
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
	var unit byte
	for _, p := range pairs {
		for i := range len(side(p)) {
			c := side(p)[i]
			if c != ' ' && c != '\t' || unit != 0 && c != unit {
				return 0, false
			}
			unit = c
		}
	}
	return unit, unit != 0
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
