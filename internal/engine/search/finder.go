package search

import (
	"bytes"
	"io"
	"regexp/syntax"
	"sync/atomic"
)

// finder applies a Pattern to buffers. It is for one goroutine.
type finder struct {
	p     *Pattern
	stop  *atomic.Bool // set to stop the search; may be nil
	dfa   *dfa
	lits  *scanner // nil: no literals to search for first
	leads *scanner // the same for the beginnings of multiline matches
	all   bool     // all matches are needed, so that looking ahead is worthwhile
	slow  bool     // the DFA is stuck: use package regexp

	// For the current buffer:
	byLits  bool // searching for the literals is worthwhile
	byLeads bool // and for those that matches begin with
	misses  int  // lines with a literal that don't match
	ahead   bool // places has the rest of all candidates
	places  []int
	store   []int // the slice that places is part of
	quad    quad
}

func newFinder(p *Pattern) *finder {
	f := &finder{p: p, dfa: newDFA(p.prog, p.crlf)}
	if len(p.lits.texts) > 0 {
		f.lits = newScanner(p.lits)
	}
	if len(p.leads.texts) > 0 {
		f.leads = newScanner(p.leads)
	}
	return f
}

// start prepares for a new buffer.
func (f *finder) start(data []byte) {
	f.misses, f.ahead = 0, false
	f.byLits = f.lits != nil && f.lits.usable(data)
	if f.byLits {
		f.lits.start()
	}
	f.byLeads = f.leads != nil && f.leads.usable(data)
	if f.byLeads {
		f.leads.start()
	}
}

// line finds the first matching line of data at or after i, where a line begins. It is data[from:to], without its
// newline; from is -1 without one.
func (f *finder) line(data []byte, i int) (from, to int) {
	for i < len(data) {
		if f.slow && f.stop != nil && f.stop.Load() {
			return -1, -1
		}
		at := -1
		switch {
		case f.byLits:
			at = f.lits.next(data, i)
		case f.slow:
			at = i
		default:
			at = f.candidate(data, i)
		}
		if at < 0 {
			return -1, -1
		}
		from = bytes.LastIndexByte(data[i:at], '\n') + 1 + i
		to = lineEnd(data, at)
		if f.confirm(data[from:to]) {
			return from, to
		}
		i = to + 1
	}
	return -1, -1
}

func lineEnd(data []byte, i int) int {
	if j := bytes.IndexByte(data[i:], '\n'); j >= 0 {
		return i + j
	}
	return len(data)
}

// count counts the matching lines from i on.
func (f *finder) count(data []byte, i int) int {
	n := 0
	for i < len(data) {
		if f.byLits && f.p.lits.whole {
			at := f.lits.next(data, i)
			if at < 0 {
				break
			}
			i = lineEnd(data, at) + 1
		} else {
			from, to := f.line(data, i)
			if from < 0 {
				break
			}
			i = to + 1
		}
		n++
	}
	return n
}

// candidate runs the DFA from the beginning of a line and returns a place in the first line that seems to match, or -1.
func (f *finder) candidate(data []byte, i int) int {
	if f.dfa.line == matched {
		return i
	}
	if f.all && len(data)-i >= minQuad && !f.ahead {
		f.lookAhead(data, i)
	}
	if f.ahead {
		for len(f.places) > 0 && f.places[0] < i {
			f.places = f.places[1:]
		}
		if len(f.places) == 0 {
			return -1
		}
		return f.places[0]
	}
	s, at := f.dfa.scan(f.dfa.line, data, i)
	f.account(s, at-i)
	switch s {
	case matched:
		return at
	case stuck:
		return i
	}
	if data[len(data)-1] != '\n' && f.dfa.end(s) {
		return len(data)
	}
	return -1
}

// lookAhead finds all candidates of a buffer, starting at the beginning of a line.
func (f *finder) lookAhead(data []byte, i int) {
	found, ok := f.dfa.candidates(&f.quad, data[i:], f.store[:0])
	f.account(unknown, len(data)-i)
	if !ok {
		f.all = false // too many states for another attempt
		return
	}
	for k := range found {
		found[k] += i
	}
	f.store, f.places, f.ahead = found, found, true
}

// account extends the DFA's budget for the bytes it scanned, and abandons it if it is stuck.
func (f *finder) account(s uint32, n int) {
	f.dfa.allowed += n
	f.slow = f.slow || s == stuck
}

// confirm decides about a line in which a literal or the DFA found something.
func (f *finder) confirm(line []byte) bool {
	if f.byLits {
		if f.p.lits.whole {
			return true
		}
		if f.matchesLine(line) {
			return true
		}
		// Literals that occur everywhere cost more than they save.
		f.misses++
		if f.misses > 64 {
			f.byLits = false
		}
		return false
	}
	if f.slow {
		return f.full(line)
	}
	return !f.doubtful(line) || f.full(line)
}

func (f *finder) matchesLine(line []byte) bool {
	if f.slow {
		return f.full(line)
	}
	s, _ := f.dfa.scan(f.dfa.line, line, 0)
	f.account(s, len(line))
	if s == stuck {
		return f.full(line)
	}
	if !f.dfa.end(s) {
		return false
	}
	return !f.doubtful(line) || f.full(line)
}

// doubtful reports whether the DFA may have matched too much in a line.
func (f *finder) doubtful(line []byte) bool {
	if f.p.crlf && (f.p.prog.cr || f.p.prog.empty&syntax.EmptyEndLine != 0) && bytes.IndexByte(line, '\r') >= 0 {
		return true
	}
	return f.p.prog.high && !isASCII(line)
}

func (f *finder) full(line []byte) bool {
	line = f.p.trimCR(line)
	if len(line) < haltEvery {
		return f.p.full.Match(line)
	}
	return f.p.full.MatchReader(&haltReader{Reader: bytes.NewReader(line), stop: f.stop})
}

// haltReader ends a text early to stop the search, because package regexp can't be canceled.
type haltReader struct {
	*bytes.Reader
	stop *atomic.Bool
	n    int
}

// haltEvery is the number of bytes between two checks.
const haltEvery = 8 << 10

func (r *haltReader) ReadRune() (rune, int, error) {
	if r.n++; r.n%haltEvery == 0 && r.stop != nil && r.stop.Load() {
		return 0, 0, io.EOF
	}
	return r.Reader.ReadRune()
}

// trimCR removes the carriage return of a "\r\n" line ending.
func (p *Pattern) trimCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' && p.crlf {
		return line[:n-1]
	}
	return line
}

func isASCII(b []byte) bool {
	for len(b) >= 8 {
		if (uint64(b[0])|uint64(b[1])|uint64(b[2])|uint64(b[3])|uint64(b[4])|uint64(b[5])|uint64(b[6])|
			uint64(b[7]))&0x80 != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}
