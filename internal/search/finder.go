package search

import (
	"bytes"
	"io"
	"regexp/syntax"
	"sync/atomic"
)

// finder applies a Pattern to buffers. One goroutine uses it.
type finder struct {
	p     *Pattern
	stop  *atomic.Bool // set when the search is to end; may be nil
	dfa   *dfa
	lits  *scanner // nil when there is nothing to look for beforehand
	leads *scanner // the same for the beginnings of matches that cross lines
	all   bool     // all matches are wanted, so that it pays to look ahead
	slow  bool     // the DFA is stuck: package regexp does the work

	// Of the buffer at hand:
	byLits  bool // the literals are worth looking for
	byLeads bool // and those that matches begin with
	misses  int  // lines that hold a literal and do not match
	ahead   bool // places holds what is left of all candidates
	places  []int
	store   []int // what places was cut from
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

// line finds the first line of data at or after i, where a line begins, that matches. It is in data[from:to], without
// its end; from is -1 when there is none.
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

// count counts the lines from i on that match, without saying where they are.
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

// candidate runs the DFA from a line's beginning and gives a place in the first line that seems to match, or -1.
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

// lookAhead finds all candidates of a buffer, from the beginning of a line on.
func (f *finder) lookAhead(data []byte, i int) {
	found, ok := f.dfa.candidates(&f.quad, data[i:], f.store[:0])
	f.account(unknown, len(data)-i)
	if !ok {
		f.all = false // too many states for it to be worth another try
		return
	}
	for k := range found {
		found[k] += i
	}
	f.store, f.places, f.ahead = found, found, true
}

// account allows the DFA more for the bytes it went over, and gives it up when it is stuck.
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
		// Literals that are everywhere cost more than they save.
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

// doubtful reports whether the DFA may have found too much in a line.
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

// haltReader ends a text early when the search is to stop, since package regexp cannot be told to.
type haltReader struct {
	*bytes.Reader
	stop *atomic.Bool
	n    int
}

// haltEvery is the length of text for which stopping can wait.
const haltEvery = 8 << 10

func (r *haltReader) ReadRune() (rune, int, error) {
	if r.n++; r.n%haltEvery == 0 && r.stop != nil && r.stop.Load() {
		return 0, 0, io.EOF
	}
	return r.Reader.ReadRune()
}

// trimCR drops the carriage return that ends a line with "\r\n".
func (p *Pattern) trimCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' && p.crlf {
		return line[:n-1]
	}
	return line
}

func isASCII(b []byte) bool {
	for len(b) >= 8 {
		if (uint64(b[0])|uint64(b[1])|uint64(b[2])|uint64(b[3])|uint64(b[4])|uint64(b[5])|uint64(b[6])|uint64(b[7]))&0x80 != 0 {
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
