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
	if len(data) < i+p.gap {
		return -1
	}
	n := len(data) - p.gap // places where the second byte is inside
	first, second := data[:n], data[p.gap:]
	for ; i+16 <= n; i += 16 {
		z0 := p.zeros(first[i:i+8], second[i:i+8])
		z1 := p.zeros(first[i+8:i+16], second[i+8:i+16])
		if z0|z1 == 0 {
			continue
		}
		if z0 != 0 {
			return i + bits.TrailingZeros64(z0)>>3
		}
		return i + 8 + bits.TrailingZeros64(z1)>>3
	}
	for ; i < n; i++ {
		if uint64(first[i])|p.foldA&0xff == p.a&0xff && uint64(second[i])|p.foldB&0xff == p.b&0xff {
			return i
		}
	}
	return -1
}

// zeros marks the places where both bytes agree; the lowest mark is right, those above it may be an echo of it.
func (p *pair) zeros(x, y []byte) uint64 {
	v := (binary.LittleEndian.Uint64(x) | p.foldA) ^ p.a | (binary.LittleEndian.Uint64(y) | p.foldB) ^ p.b
	return (v - ones) &^ v & highs
}
