package search

import (
	"bytes"
	"fmt"
)

// spans searches for matches that may cross lines. The text is seen through a window of at most maxBuffer: a match that
// begins in its first half is found when it ends inside the window.
func (g *grepper) spans(n int) error {
	first := true
	i := 0
	for {
		var err error
		for !g.eof && len(g.buf) < g.most {
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
				g.sum.Notes = append(g.sum.Notes, fmt.Sprintf("%s is large: matches of more than %d MB in it are not found", g.path(), maxBuffer>>21))
			}
		}
		done, more := g.spansOf(data, i, edge, first)
		if !more || g.eof || g.c.walk.stop.Load() {
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
	for i < edge && !g.c.walk.stop.Load() {
		start, end := g.find.span(data, i, first)
		if start < 0 || start >= edge {
			break
		}
		if start == len(data) && (start == 0 || data[start-1] == '\n') {
			break // an empty match after the last line is in no line
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
		if edge < len(data) { // a match may yet begin in the line that the edge is in
			upTo = bytes.LastIndexByte(data[:edge], '\n') + 1
		}
		g.take.context(data, upTo)
	}
	return max(i, edge), true
}

// matchSpan takes all lines of a match that were not taken before.
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
