package search

import (
	"encoding/binary"
	"math/bits"
)

// pair finds two bytes at a fixed distance, eight places at a time: a word of text is compared with eight copies of the one
// byte, the word at the distance with the other, and only a place where both agree is looked at. For letters of either
// case the bit that tells the cases apart is set first.
type pair struct {
	a, b         uint64 // eight copies of each byte
	foldA, foldB uint64 // eight copies of the case bit, or zero
	gap          int
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func newPair(a, b byte, gap int, fold bool) pair {
	p := pair{a: ones * uint64(a), b: ones * uint64(b), gap: gap}
	if fold && upper(a) != a {
		p.foldA = ones * 0x20
	}
	if fold && upper(b) != b {
		p.foldB = ones * 0x20
	}
	return p
}

// find gives the first place at or after i where the first byte is and the second follows at its distance, or -1.
func (p *pair) find(data []byte, i int) int {
	a, b, foldA, foldB, gap := p.a, p.b, p.foldA, p.foldB, p.gap // in registers: the loop is all that counts here
	n := len(data) - gap
	for ; i+16 <= n; i += 16 {
		x, y := data[i:i+16:i+16], data[i+gap:i+gap+16:i+gap+16]
		v0 := ((word(x) | foldA) ^ a) | ((word(y) | foldB) ^ b)
		v1 := ((word(x[8:]) | foldA) ^ a) | ((word(y[8:]) | foldB) ^ b)
		// A byte that is zero, where both agree, gets its high bit set; those above it may be an echo of it.
		z0 := (v0 - ones) &^ v0 & highs
		z1 := (v1 - ones) &^ v1 & highs
		if z0|z1 == 0 {
			continue
		}
		if z0 != 0 {
			return i + bits.TrailingZeros64(z0)>>3
		}
		return i + 8 + bits.TrailingZeros64(z1)>>3
	}
	for ; i < n; i++ {
		if uint64(data[i])|foldA&0xff == a&0xff && uint64(data[i+gap])|foldB&0xff == b&0xff {
			return i
		}
	}
	return -1
}

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
