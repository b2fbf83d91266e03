package search

import "bytes"

// longLine searches a line that does not fit into the buffer: the DFA goes over it piece by piece and carries its state
// along, so that a match is found wherever it lies and the line is never held whole. It returns the bytes of the next
// line that are in the buffer, at its beginning.
func (g *grepper) longLine(n, from int) (int, error) {
	f := g.find
	state := f.dfa.line
	found := state == matched
	if found {
		g.takeLong(g.buf[from:n], 0, from)
	}
	data := g.buf[from:n]
	passed := 0 // bytes of the line before data
	for {
		end := lineEnd(data, 0)
		if !found {
			var at int
			state, at = g.scanLong(state, data[:end], 0)
			over := end < len(data) || g.eof
			for state == matched || (over && f.dfa.end(state)) {
				if found = g.confirmLong(data[:end], at); found {
					g.takeLong(data[:end], at, passed)
					break
				}
				state, at = g.scanLong(f.dfa.begin(0), data[:end], min(at+1, end))
				if at == end && state != matched && !(over && f.dfa.end(state)) {
					break
				}
			}
		}
		if end < len(data) {
			return g.nextLine(data, end+1)
		}
		if g.eof || g.c.walk.stop.Load() || (found && g.c.req.Mode == Paths) {
			g.eof = true
			return 0, nil
		}
		passed += len(data)
		m, err := g.fill(0, len(g.buf))
		if err != nil {
			return 0, err
		}
		data = g.buf[:m]
		if m == 0 {
			data = g.buf[:0]
		}
	}
}

// scanLong runs the DFA however many states it takes, since nothing else can go over a line piece by piece, and looks
// now and then whether it is to stop.
func (g *grepper) scanLong(s uint32, data []byte, i int) (uint32, int) {
	for i < len(data) && s != matched && !g.c.walk.stop.Load() {
		g.find.dfa.allowed = g.find.dfa.spent + allowance
		if s, i = g.find.dfa.scan(s, data[:min(i+haltEvery, len(data))], i); s == stuck {
			return g.find.dfa.line, len(data)
		}
	}
	return s, i
}

// nextLine moves what follows a long line to the beginning of the buffer, and fills it.
func (g *grepper) nextLine(data []byte, end int) (int, error) {
	if g.take.on {
		g.take.number++
		g.take.counted, g.take.next = 0, 0
	}
	return g.fill(copy(g.buf, data[end:]), len(g.buf))
}

// confirmLong decides, by what is near, about a match in a line that is too long to be asked about as a whole.
func (g *grepper) confirmLong(data []byte, at int) bool {
	near := data[max(0, at-window):min(len(data), at+window)]
	return !g.find.doubtful(near) || g.find.full(near)
}

const window = 32 << 10

// takeLong takes what lies around the match.
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
	t.due = t.after
	if t.max > 0 && t.count >= t.max {
		t.on = t.due > 0
	}
}
