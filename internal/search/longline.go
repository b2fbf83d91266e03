package search

import "bytes"

// longLine searches a line that does not fit into the buffer: the DFA goes over it piece by piece and carries its state
// along, so that a match is found anywhere and the line is never in memory as a whole. What the DFA is not sure about is
// decided by what is near, so that an assertion next to a character beyond ASCII may be taken to match at the edge
// of a piece. It returns the bytes of the next line that are in the buffer, at its beginning.
func (g *grepper) longLine(n, from int) (int, error) {
	if g.take.on {
		g.take.countTo(g.buf[:n], from)
	}
	if g.long == nil {
		g.long = newDFA(g.c.req.Pattern.prog, false)
	}
	state := g.long.line
	found := state == matched
	data := g.buf[from:n]
	if found {
		g.takeLong(data, 0, 0)
	}
	passed := 0 // bytes of the line before data
	for {
		end := lineEnd(data, 0)
		over := end < len(data) || g.eof
		if !found {
			piece := data[:end]
			if over {
				piece = g.c.req.Pattern.trimCR(piece)
			}
			var at int
			if state, at = g.scanLong(state, piece, over); state == matched {
				found = true
				g.takeLong(piece, at, passed)
			}
		}
		if end < len(data) {
			return g.nextLine(data, end+1)
		}
		if over || g.c.walk.stop.Load() || (found && g.c.req.Mode == Paths) {
			g.eof = true
			return 0, nil
		}
		passed += len(data)
		m, err := g.fill(0, len(g.buf))
		if err != nil {
			return 0, err
		}
		data = g.buf[:m]
	}
}

// scanLong runs the DFA over a piece of a line, which is the last one when over is set, up to a match that is confirmed.
// The DFA may make as many states as it takes, since nothing else can go over a line piece by piece; now and then it is
// seen whether the search is to stop.
func (g *grepper) scanLong(s uint32, data []byte, over bool) (uint32, int) {
	d := g.long
	i := 0
	for i < len(data) && !g.c.walk.stop.Load() {
		d.allowed = d.spent + allowance
		s, i = d.scan(s, data[:min(i+haltEvery, len(data))], i)
		if s == matched && g.confirmLong(data, i) {
			return matched, i
		}
		if s == matched || s == stuck {
			i++
			s = d.begin(d.after(data[i-1]))
		}
	}
	if over && s != matched && d.end(s) && g.confirmLong(data, i) {
		return matched, i
	}
	return s, i
}

// nextLine moves what follows a long line to the beginning of the buffer, and fills it.
func (g *grepper) nextLine(data []byte, end int) (int, error) {
	if g.take.on {
		g.take.number++
		g.take.counted, g.take.next, g.take.due = 0, 0, max(0, g.take.due-1)
	}
	return g.fill(copy(g.buf, data[end:]), len(g.buf))
}

// confirmLong checks a match in a line that is too long to be searched again as a whole, by the text around it.
func (g *grepper) confirmLong(data []byte, at int) bool {
	near := data[max(0, at-window):min(len(data), at+window)]
	return !g.find.p.prog.high || isASCII(near) || g.find.full(near)
}

const window = 32 << 10

// takeLong takes the text around the match.
func (g *grepper) takeLong(data []byte, at, passed int) {
	t := &g.take
	if t.count == 0 && !g.first(nil) {
		t.count = 1
		return
	}
	t.count++
	if !t.on {
		return
	}
	start := max(0, at-t.maxLine*3/4)
	part := data[start:min(len(data), start+t.maxLine)]
	t.lines = append(t.lines, Line{Number: t.number, Match: true, Cut: true, Offset: passed + start})
	t.text = append(t.text, bytes.ToValidUTF8(part, nil)...)
	t.ends = append(t.ends, len(t.text))
	t.due = t.after + 1 // the line itself is counted off when it ends
	if t.max > 0 && t.count >= t.max {
		t.on = t.due > 0
	}
}
