package search

import (
	"regexp/syntax"
	"unicode"
)

// program is a regular expression as a nondeterministic machine over bytes. It is exact on ASCII; a byte of 0x80 and above
// stands for any part of any such character in a class, so that the machine may find too much but never too little, and
// a line with such bytes is checked again with package regexp.
type program struct {
	insts []inst
	start uint32
	high  bool           // some class holds characters beyond ASCII
	cr    bool           // some class holds the carriage return
	empty syntax.EmptyOp // the assertions that occur
}

type inst struct {
	op    syntax.InstOp // Alt, Nop, EmptyWidth, Match or Rune; others are folded into these
	out   uint32
	arg   uint32 // the second way out of Alt
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

// takesHigh tells whether an instruction matches any character beyond ASCII.
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
