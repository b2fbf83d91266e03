package search

import (
	"bytes"
	"unsafe"
)

// quad runs the DFA over four parts of a buffer at once. One step of a DFA must wait for the step before, which leaves
// the processor idle most of the time; four that do not depend on each other fill it. That is possible because no match
// crosses a line, so that each part can begin again at a line.
type quad struct {
	state [4]uint32
	at    [4]int
	end   [4]int
	found [4][]int // places in lines that seem to match, in order
}

// minQuad is the size from which on four parts pay.
const minQuad = 2 << 10

// candidates finds a place in every line of data that seems to match, in order, with the last line's end counted as a
// line end. It gives up, with false, when the table had to be begun again or is too costly.
func (d *dfa) candidates(q *quad, data []byte, into []int) ([]int, bool) {
	resets := d.resets
	begin := 0
	for k := range 4 {
		end := len(data)
		if k < 3 {
			end = max(begin, bytes.LastIndexByte(data[begin:max(begin, len(data)*(k+1)/4)], '\n')+1+begin)
		}
		q.state[k], q.at[k], q.end[k], q.found[k] = d.line, begin, end, q.found[k][:0]
		begin = end
	}
	for {
		n := len(data)
		for k := range 4 {
			n = min(n, q.end[k]-q.at[k])
		}
		if n < 16 {
			break
		}
		if n = q.lockstep(d.table, data, n); n > 0 && !d.special(q, data) {
			return into, false
		}
		if d.resets != resets {
			return into, false
		}
	}
	for k := range 4 {
		for q.at[k] < q.end[k] {
			s, i := d.scan(q.state[k], data[:q.end[k]], q.at[k])
			if s == stuck || d.resets != resets {
				return into, false
			}
			if s != matched && (i < len(data) || data[i-1] == '\n' || !d.end(s)) {
				break
			}
			q.found[k] = append(q.found[k], min(i, len(data)-1))
			q.at[k], q.state[k] = min(lineEnd(data, min(i, len(data)-1))+1, len(data)), d.line
		}
		into = append(into, q.found[k]...)
	}
	return into, true
}

// lockstep takes up to n steps in each part and returns how many steps were left when one part came upon something
// special, at which all parts stop before their byte; 0 when all were taken.
func (q *quad) lockstep(table []uint32, data []byte, n int) int {
	base := unsafe.Pointer(unsafe.SliceData(table))
	a, b, c, e := data[q.at[0]:q.at[0]+n], data[q.at[1]:q.at[1]+n], data[q.at[2]:q.at[2]+n], data[q.at[3]:q.at[3]+n]
	s0, s1, s2, s3 := q.state[0], q.state[1], q.state[2], q.state[3]
	i := 0
	for ; i < len(a) && i < len(b) && i < len(c) && i < len(e); i++ {
		t0, t1, t2, t3 := at(base, s0, a[i]), at(base, s1, b[i]), at(base, s2, c[i]), at(base, s3, e[i])
		if t0&t1&t2&t3&ordinary == 0 {
			break
		}
		s0, s1, s2, s3 = t0, t1, t2, t3
	}
	q.state = [4]uint32{s0, s1, s2, s3}
	for k := range q.at {
		q.at[k] += i
	}
	return n - i
}

// special takes one step in each part, whatever it may be; false when the table was begun again, which forgets the
// states of the other parts.
func (d *dfa) special(q *quad, data []byte) bool {
	resets := d.resets
	for k := range 4 {
		c := data[q.at[k]]
		t := d.table[q.state[k]-ordinary+uint32(c)]
		if t == unknown {
			if t = d.step(&q.state[k], c); t == stuck || d.resets != resets {
				return false
			}
		}
		if t == matched {
			q.found[k] = append(q.found[k], q.at[k])
			q.at[k], q.state[k] = min(lineEnd(data, q.at[k])+1, q.end[k]), d.line
			continue
		}
		q.at[k]++
		q.state[k] = t
	}
	return true
}
