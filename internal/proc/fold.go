package proc

import (
	"bytes"
	"strconv"
)

// foldFrom is how many times a line must come again to be folded. Fewer are
// kept as they are: three closing brackets in a row are text, not noise.
const foldFrom = 5

// fold passes lines on and replaces long runs of the same line.
type fold struct {
	put    func([]byte) // given text with its newlines
	last   []byte
	have   bool // last is a line, and was put
	again  int64
	within bool // inside a line that comes in pieces
	buf    []byte
}

// line takes one line; more means that it goes on in the next call. Lines in
// pieces are too long to compare and are never folded.
func (f *fold) line(l []byte, more bool) {
	if f.within || more {
		f.settle()
		f.have, f.within = false, more
		f.out(l, !more)
		return
	}
	if f.have && bytes.Equal(l, f.last) {
		f.again++
		return
	}
	f.settle()
	f.last, f.have = append(f.last[:0], l...), true
	f.out(l, true)
}

// settle puts what is known of a run that is over.
func (f *fold) settle() {
	if f.again >= foldFrom {
		f.out([]byte("[previous line repeated "+group(f.again)+" times]"), true)
	} else {
		for range f.again {
			f.out(f.last, true)
		}
	}
	f.again = 0
}

func (f *fold) out(l []byte, newline bool) {
	f.buf = append(f.buf[:0], l...)
	if newline {
		f.buf = append(f.buf, '\n')
	}
	f.put(f.buf)
}

// group writes a number with a comma between thousands.
func group(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
