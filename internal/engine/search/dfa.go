package search

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode"
	"unsafe"
)

// dfa builds the table of a program lazily, state by state. It stops at the first place where some match ends: a search
// only needs to know which lines match, and package regexp does the rest for lines that are shown.
//
// A state is a set of instructions together with what an assertion in the set needs to know about the previous byte.
// Assertions are decided when the next byte is seen. States are numbered in steps of 256 from ordinary on, so that a
// state plus a byte is an index; the table grows up to maxStates and is then restarted. A dfa is for one goroutine.
type dfa struct {
	p     *program
	crlf  bool // the end of a line may also be before its "\r"
	table []uint32
	ends  []uint32 // the result of the end of the text, by state
	sets  [][]uint32
	flags []before
	ids   map[string]uint32

	set  sparse
	next sparse
	key  []byte

	line   uint32    // the state at the beginning of a line that is not the first
	rest   [2]uint32 // the states inside a line without a partial match, after an ordinary byte and after a word byte
	resets int

	// spent counts the instructions processed to make states. For some expressions nearly every byte of a text makes a
	// new state; beyond the limit the DFA gives up and package regexp is faster.
	spent, allowed int
}

// allowance is the minimum budget for making states, about 30 ms.
const allowance = 4 << 20

const (
	unknown   = 0       // not computed yet
	matched   = 1 << 8  // a match ended at or before the last byte
	stuck     = 2 << 8  // making states exceeded the budget
	ordinary  = 1 << 20 // set in all other states, so that several can be tested at once
	maxStates = ordinary >> 8
)

// before is what is known about the byte before a state.
type before uint8

const (
	lineStart before = 1 << iota
	textStart
	afterWord
)

func newDFA(p *program, crlf bool) *dfa {
	d := &dfa{p: p, crlf: crlf, allowed: allowance}
	n := 2 * len(p.insts)
	d.set, d.next = newSparse(n), newSparse(n)
	d.reset()
	return d
}

func (d *dfa) reset() {
	d.table, d.ends, d.sets, d.flags = d.table[:0], d.ends[:0], d.sets[:0], d.flags[:0]
	d.ids = make(map[string]uint32)
	d.line = d.begin(lineStart)
	d.rest = [2]uint32{d.begin(0), d.begin(afterWord)}
}

// begin returns the state before the first byte of a text, given the byte before it.
func (d *dfa) begin(b before) uint32 {
	d.next.clear()
	d.follow(&d.next, d.p.start)
	return d.intern(b)
}

// idle reports whether a state is one without a partial match.
func (d *dfa) idle(s uint32) bool {
	return s == d.line || s == d.rest[0] || s == d.rest[1]
}

// scan runs from state s over data[i:]. It returns matched and the index of the byte that completed a match, which is
// in the line of the match, or the state after the last byte and len(data), or stuck and how far it got.
func (d *dfa) scan(s uint32, data []byte, i int) (uint32, int) {
	for {
		s, i = run(d.table, s, data, i)
		if i == len(data) {
			return s, i
		}
		// The transition from s on data[i] is special: a match, or not computed yet.
		t := d.table[s-ordinary+uint32(data[i])]
		if t == unknown {
			t = d.step(&s, data[i])
		}
		if t == matched || t == stuck {
			return t, i
		}
		s = t
		i++
	}
}

// run is the hot loop. It stops before a byte whose transition is special. The table has 256 entries for every state it
// mentions, so the index needs no bounds check; with the check the loop takes 50 % longer.
func run(table []uint32, s uint32, data []byte, i int) (uint32, int) {
	base := unsafe.Pointer(unsafe.SliceData(table))
	for i+4 <= len(data) {
		c := data[i : i+4 : i+4]
		s1 := at(base, s, c[0])
		if s1 < ordinary {
			return s, i
		}
		s2 := at(base, s1, c[1])
		if s2 < ordinary {
			return s1, i + 1
		}
		s3 := at(base, s2, c[2])
		if s3 < ordinary {
			return s2, i + 2
		}
		s4 := at(base, s3, c[3])
		if s4 < ordinary {
			return s3, i + 3
		}
		s = s4
		i += 4
	}
	for i < len(data) {
		t := at(base, s, data[i])
		if t < ordinary {
			return s, i
		}
		s = t
		i++
	}
	return s, i
}

// at reads the table at an ordinary state.
func at(base unsafe.Pointer, s uint32, c byte) uint32 {
	return *(*uint32)(unsafe.Add(base, (int(s)+int(c))*4-ordinary*4))
}

// number returns a state's index in the lists.
func number(s uint32) uint32 { return (s - ordinary) >> 8 }

// step computes the transition of a state on a byte. If the table is full it is restarted and *s is renumbered.
func (d *dfa) step(s *uint32, c byte) uint32 {
	if d.spent > d.allowed {
		return stuck
	}
	if len(d.sets) >= maxStates {
		d.restart(s)
	}
	if d.resolve(*s, d.asserted(d.flags[number(*s)], int(c))) {
		d.table[*s-ordinary+uint32(c)] = matched
		return matched
	}
	d.next.clear()
	n := uint32(len(d.p.insts))
	for _, i := range d.set.dense {
		if i >= n { // the second and later bytes of a character
			if c >= 0x80 {
				d.next.add(i)
				d.follow(&d.next, d.p.insts[i-n].out)
			}
			continue
		}
		in := &d.p.insts[i]
		if in.op != syntax.InstRune || !in.takes(c) {
			continue
		}
		d.follow(&d.next, in.out)
		if c >= 0x80 {
			d.next.add(n + i)
		}
	}
	d.follow(&d.next, d.p.start)
	d.spent += len(d.set.dense) + len(d.next.dense) + 16
	t := d.intern(d.after(c))
	d.table[*s-ordinary+uint32(c)] = t
	return t
}

// restart empties the table except for state *s, which gets a new number.
func (d *dfa) restart(s *uint32) {
	set, b := slices.Clone(d.sets[number(*s)]), d.flags[number(*s)]
	d.reset()
	d.resets++
	d.next.clear()
	for _, i := range set {
		d.next.add(i)
	}
	*s = d.intern(b)
}

// end reports whether the end of the text after state s completes a match.
func (d *dfa) end(s uint32) bool {
	if s == matched {
		return true
	}
	n := number(s)
	if d.ends[n] == unknown {
		d.ends[n] = ordinary
		if d.resolve(s, d.asserted(d.flags[n], -1)) {
			d.ends[n] = matched
		}
	}
	return d.ends[n] == matched
}

// asserted returns the assertions that hold between the previous byte and the next one, -1 at the end of the text.
func (d *dfa) asserted(b before, c int) syntax.EmptyOp {
	var e syntax.EmptyOp
	if b&lineStart != 0 {
		e |= syntax.EmptyBeginLine
	}
	if b&textStart != 0 {
		e |= syntax.EmptyBeginText
	}
	if c < 0 {
		e |= syntax.EmptyEndText
	}
	if c < 0 || c == '\n' || (c == '\r' && d.crlf) {
		e |= syntax.EmptyEndLine
	}
	if (b&afterWord != 0) != (c >= 0 && isWord(byte(c))) {
		e |= syntax.EmptyWordBoundary
	} else {
		e |= syntax.EmptyNoWordBoundary
	}
	return e
}

func (d *dfa) after(c byte) before {
	switch {
	case c == '\n':
		return lineStart
	case isWord(c):
		return afterWord
	}
	return 0
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// resolve puts into d.set what state s becomes under the assertions, and reports whether it includes a match.
func (d *dfa) resolve(s uint32, e syntax.EmptyOp) bool {
	d.set.clear()
	for _, i := range d.sets[number(s)] {
		d.set.add(i)
	}
	n := uint32(len(d.p.insts))
	for k := 0; k < len(d.set.dense); k++ {
		i := d.set.dense[k]
		if i >= n {
			continue
		}
		switch in := &d.p.insts[i]; in.op {
		case syntax.InstMatch:
			return true
		case syntax.InstEmptyWidth:
			if in.empty&^e == 0 {
				d.follow(&d.set, in.out)
			}
		}
	}
	return false
}

// follow adds an instruction and everything reachable from it without a byte and without an assertion.
func (d *dfa) follow(q *sparse, i uint32) {
	for !q.has(i) {
		q.add(i)
		in := &d.p.insts[i]
		switch in.op {
		case syntax.InstAlt:
			d.follow(q, in.out)
			i = in.arg
		case syntax.InstNop:
			i = in.out
		default:
			return
		}
	}
}

// intern returns the number of the state of d.next and b.
func (d *dfa) intern(b before) uint32 {
	keep := d.next.dense[:0:len(d.next.dense)]
	n := uint32(len(d.p.insts))
	var pending syntax.EmptyOp
	match := false
	for _, i := range d.next.dense {
		if i >= n {
			keep = append(keep, i)
			continue
		}
		switch in := &d.p.insts[i]; in.op {
		case syntax.InstMatch:
			match = true
			keep = append(keep, i)
		case syntax.InstEmptyWidth:
			pending |= in.empty
			keep = append(keep, i)
		case syntax.InstRune:
			keep = append(keep, i)
		}
	}
	if match {
		return matched
	}
	if pending&syntax.EmptyBeginLine == 0 {
		b &^= lineStart
	}
	if pending&syntax.EmptyBeginText == 0 {
		b &^= textStart
	}
	if pending&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) == 0 {
		b &^= afterWord
	}
	slices.Sort(keep)
	d.key = append(d.key[:0], byte(b))
	for _, i := range keep {
		d.key = binary.AppendUvarint(d.key, uint64(i))
	}
	if id, ok := d.ids[string(d.key)]; ok {
		return id
	}
	id := ordinary + uint32(len(d.sets))<<8
	d.ids[string(d.key)] = id
	d.sets = append(d.sets, slices.Clone(keep))
	d.flags = append(d.flags, b)
	d.ends = append(d.ends, unknown)
	d.table = append(d.table, zeroRow[:]...)
	return id
}

var zeroRow [256]uint32

// sparse is a set of small numbers that keeps their order and is emptied in constant time.
type sparse struct {
	dense  []uint32
	places []uint32
}

func newSparse(n int) sparse { return sparse{make([]uint32, 0, n), make([]uint32, n)} }

func (s *sparse) clear() { s.dense = s.dense[:0] }

func (s *sparse) has(i uint32) bool {
	p := s.places[i]
	return int(p) < len(s.dense) && s.dense[p] == i
}

func (s *sparse) add(i uint32) {
	if !s.has(i) {
		s.places[i] = uint32(len(s.dense))
		s.dense = append(s.dense, i)
	}
}

// program is a regular expression as an NFA over bytes. It is exact on ASCII; a byte of 0x80 and above matches any part
// of any such character in a class, so that the NFA may match too much but never too little, and a line with such bytes
// is checked again with package regexp.
type program struct {
	insts []inst
	start uint32
	high  bool           // some class has characters beyond ASCII
	cr    bool           // some class has the carriage return
	empty syntax.EmptyOp // the assertions that occur
}

type inst struct {
	op    syntax.InstOp // Alt, Nop, EmptyWidth, Match or Rune; others are converted to these
	out   uint32
	arg   uint32 // the second branch of Alt
	empty syntax.EmptyOp
	ascii [2]uint64
	high  bool
}

func (in *inst) takes(c byte) bool {
	if c >= 0x80 {
		return in.high
	}
	return in.ascii[c>>6]&(1<<(c&63)) != 0
}

func newProgram(re *syntax.Regexp) (*program, error) {
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	p := &program{start: uint32(prog.Start), insts: make([]inst, len(prog.Inst))}
	for i := range prog.Inst {
		from, to := &prog.Inst[i], &p.insts[i]
		to.out, to.arg = from.Out, from.Arg
		switch from.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			to.op = syntax.InstAlt
		case syntax.InstCapture, syntax.InstNop:
			to.op = syntax.InstNop
		case syntax.InstEmptyWidth:
			to.op, to.empty = syntax.InstEmptyWidth, syntax.EmptyOp(from.Arg)
			p.empty |= to.empty
		case syntax.InstMatch, syntax.InstFail:
			to.op = from.Op
		default:
			to.op = syntax.InstRune
			for c := range rune(0x80) {
				if from.MatchRune(c) {
					to.ascii[c>>6] |= 1 << (c & 63)
				}
			}
			to.high = takesHigh(from)
			p.high = p.high || to.high
			p.cr = p.cr || to.takes('\r')
		}
	}
	return p, nil
}

// takesHigh reports whether an instruction matches any character beyond ASCII.
func takesHigh(in *syntax.Inst) bool {
	switch in.Op {
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	if len(in.Rune) == 1 {
		r := in.Rune[0]
		if syntax.Flags(in.Arg)&syntax.FoldCase == 0 {
			return r >= 0x80
		}
		for f := unicode.SimpleFold(r); ; f = unicode.SimpleFold(f) {
			if f >= 0x80 {
				return true
			}
			if f == r {
				return false
			}
		}
	}
	return len(in.Rune) > 0 && in.Rune[len(in.Rune)-1] >= 0x80
}
