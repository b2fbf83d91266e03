package search

import (
	"bytes"
	"fmt"
	"regexp"
)

// span finds the first match at or after i that may cross lines, like package regexp; start is -1 without one.
// first means that data[0] is the beginning of the text.
func (f *finder) span(data []byte, i int, first bool) (start, end int) {
	if i > len(data) {
		return -1, -1
	}
	if f.byLits && f.lits.next(data, i) < 0 {
		return -1, -1
	}
	if f.slow || f.p.anchored {
		return f.exact(data, i, first)
	}
	if f.byLeads {
		return f.lead(data, i, first)
	}
	s := f.stateAt(data, i, first)
	if s != matched {
		var at int
		s, at = f.dfa.scan(s, data, i)
		f.account(s, at-i)
		if s == stuck {
			return f.exact(data, i, first)
		}
		if s != matched && !f.dfa.end(s) {
			return -1, -1
		}
		i = f.settled(data, i, at, first)
	}
	return f.exact(data, i, first)
}

// lead is span for an expression whose matches begin with a literal: the DFA runs from the literal for as long as a
// match is possible, and then continues at the next one.
func (f *finder) lead(data []byte, i int, first bool) (start, end int) {
	for {
		if i = f.leads.next(data, i); i < 0 {
			return -1, -1
		}
		begin := i
		s := f.stateAt(data, i, first)
		for i < len(data) && s != matched {
			s, i = f.dfa.scan(s, data[:min(i+64, len(data))], i)
			f.account(s, 64)
			if s == stuck {
				return f.exact(data, begin, first)
			}
			if f.dfa.idle(s) {
				break
			}
		}
		if s == matched || (i == len(data) && f.dfa.end(s)) {
			return f.exact(data, begin, first)
		}
		if i == len(data) {
			return -1, -1
		}
	}
}

// stateAt returns the state of the DFA before data[i] without a partial match.
func (f *finder) stateAt(data []byte, i int, first bool) uint32 {
	switch {
	case i > 0:
		return f.dfa.begin(f.dfa.after(data[i-1]))
	case first:
		return f.dfa.begin(lineStart | textStart)
	}
	return f.dfa.line
}

// settled returns the last beginning of a line, at or before at, without a partial match: the leftmost match can't
// begin before it, so that package regexp can start there.
func (f *finder) settled(data []byte, i, at int, first bool) int {
	best := i
	s := f.stateAt(data, i, first)
	for i < at {
		next := min(lineEnd(data, i)+1, at)
		if s, i = f.dfa.scan(s, data[:next], i); s == matched || s == stuck {
			return best
		}
		if s == f.dfa.line && data[i-1] == '\n' {
			best = i
		}
	}
	return best
}

// exact runs package regexp, including the byte before i if an assertion may need it.
func (f *finder) exact(data []byte, i int, first bool) (start, end int) {
	from := i
	if f.p.resume != nil && i > 0 && (data[i-1] != '\n' || f.p.anchored) {
		from = i - 1
		return f.locate(f.p.resume, data, from, 1)
	}
	if f.p.anchored && !first && i == 0 {
		// The text began in an earlier buffer: an anchored match can only have been there.
		if j := bytes.IndexByte(data, '\n'); j >= 0 {
			return f.exact(data, j+1, first)
		}
		return -1, -1
	}
	return f.locate(f.p.full, data, from, 0)
}

// locate runs package regexp and returns the position of a group.
func (f *finder) locate(re *regexp.Regexp, data []byte, from, group int) (start, end int) {
	var loc []int
	if len(data)-from < haltEvery || f.stop == nil {
		loc = re.FindSubmatchIndex(data[from:])
	} else {
		loc = re.FindReaderSubmatchIndex(&haltReader{Reader: bytes.NewReader(data[from:]), stop: f.stop})
	}
	if loc == nil {
		return -1, -1
	}
	return from + loc[2*group], from + loc[2*group+1]
}

// spans searches for matches that may cross lines. The text is seen through a window of at most maxBuffer: a match that
// begins in its first half is found if it ends inside the window.
func (g *grepper) spans(n int) error {
	first := true
	i := 0
	for {
		var err error
		for !g.eof && len(g.buf) < g.limit {
			g.buf = append(g.buf, make([]byte, len(g.buf))...)
			if n, err = g.fill(n, len(g.buf)); err != nil {
				return err
			}
		}
		data := g.buf[:n]
		edge := n
		if !g.eof {
			edge = n / 2
			if first {
				g.sum.Notes = append(g.sum.Notes,
					fmt.Sprintf("%s is large: matches of more than %d MB in it are not found", g.path(), maxBuffer>>21))
			}
		}
		done, more := g.spansOf(data, i, edge, first)
		if !more || g.eof || g.halted() {
			return nil
		}
		// Begin the next window at the line in which the search continues, with its context.
		keep := bytes.LastIndexByte(data[:min(done, n)], '\n') + 1
		if keep == 0 {
			keep = min(done, n) // a line longer than half the window
		}
		keep = g.retain(data[:keep])
		g.take.slide(data, keep)
		i, g.spanned = done-keep, max(0, g.spanned-keep)
		copy(g.buf, data[keep:])
		first = false
		if n, err = g.fill(n-keep, len(g.buf)); err != nil {
			return err
		}
	}
}

// spansOf takes the matches that begin before edge, and returns where to continue and whether to.
func (g *grepper) spansOf(data []byte, i, edge int, first bool) (done int, more bool) {
	g.find.start(data)
	for i < edge && !g.c.member.stop.Load() {
		start, end := g.find.span(data, i, first)
		if start < 0 || start >= edge {
			break
		}
		if start == len(data) && (start == 0 || data[start-1] == '\n') {
			break // an empty match after the last line isn't in a line
		}
		if g.take.count == 0 && !g.first(data) {
			g.take.count = 1
			return 0, false
		}
		g.matchSpan(data, start, end)
		i = max(end, start+1)
	}
	if g.take.on {
		upTo := edge
		if edge < len(data) { // a match may still begin in the line of the edge
			upTo = bytes.LastIndexByte(data[:edge], '\n') + 1
		}
		g.take.context(data, upTo)
	}
	return max(i, edge), true
}

// matchSpan takes all lines of a match that weren't taken before.
func (g *grepper) matchSpan(data []byte, start, end int) {
	last := max(start, end-1)
	from := max(bytes.LastIndexByte(data[:start], '\n')+1, g.spanned)
	for from <= last && from < len(data) || from == start {
		to := lineEnd(data, from)
		g.take.match(data, from, to)
		from = to + 1
		g.spanned = from
	}
}
