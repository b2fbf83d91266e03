package gitindex

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
)

// Split is the part of an index about the shared one: some of its entries were deleted, others replaced.
type Split struct {
	Shared string // the suffix of the file sharedindex.* that contains the other entries

	deleted, replaced bitmap
	replacements      []Entry // without names, in the order of the entries they replace
}

// Parse visits the valid entries of the shared index. Those of the index itself were visited before.
func (s *Split) Parse(data []byte, hashSize int, visit func(Entry) error) error {
	position, used := 0, 0
	split, err := Parse(data, hashSize, func(e Entry) error {
		defer func() { position++ }()
		if s.replaced.has(position) {
			if used == len(s.replacements) {
				return ErrMalformed
			}
			e.Mode, e.Size = s.replacements[used].Mode, s.replacements[used].Size
			used++
		}
		if s.deleted.has(position) {
			return nil
		}
		return visit(e)
	})
	if err == nil && (split != nil || used < len(s.replacements)) {
		err = ErrMalformed
	}
	return err
}

// parseSplit reads the extension of a split index; nil without one.
func parseSplit(rest []byte, hashSize int) (*Split, error) {
	for len(rest) > 0 {
		if len(rest) < 8 {
			return nil, ErrMalformed
		}
		size := uint64(binary.BigEndian.Uint32(rest[4:]))
		if uint64(len(rest)-8) < size {
			return nil, ErrMalformed
		}
		body := rest[8 : 8+size]
		if string(rest[:4]) == "link" {
			if len(body) < hashSize {
				return nil, ErrMalformed
			}
			if id := body[:hashSize]; len(bytes.Trim(id, "\x00")) > 0 {
				return newSplit(id, body[hashSize:])
			}
		}
		rest = rest[8+size:]
	}
	return nil, nil
}

func newSplit(id, maps []byte) (*Split, error) {
	s := &Split{Shared: hex.EncodeToString(id)}
	if len(maps) == 0 {
		return s, nil
	}
	var ok bool
	if s.deleted, maps, ok = readBitmap(maps); !ok {
		return nil, ErrMalformed
	}
	if s.replaced, _, ok = readBitmap(maps); !ok {
		return nil, ErrMalformed
	}
	return s, nil
}

// bitmap has a bit for each entry of a shared index.
type bitmap []uint64

func (b bitmap) has(n int) bool { return n>>6 < len(b) && b[n>>6]>>(n&63)&1 != 0 }

// maxBits bounds a bitmap: no index has that many entries.
const maxBits = 1 << 26

// readBitmap reads a bitmap in git's compressed format (EWAH): the number of bits, the number of words, the words, and
// the position of the last marker. A marker is a word with a repeated bit, the number of words it is repeated for, and
// the number of literal words after it.
func readBitmap(data []byte) (b bitmap, rest []byte, ok bool) {
	if len(data) < 8 {
		return nil, nil, false
	}
	bits, count := binary.BigEndian.Uint32(data), uint64(binary.BigEndian.Uint32(data[4:]))
	if data = data[8:]; bits > maxBits || uint64(len(data)) < 8*count+4 {
		return nil, nil, false
	}
	words, rest := data[:8*count], data[8*count+4:]
	need := (int(bits) + 63) / 64
	for len(words) > 0 && len(b) < need {
		marker := binary.BigEndian.Uint64(words)
		words = words[8:]
		for range min(marker>>1&(1<<32-1), uint64(need-len(b))) {
			b = append(b, -(marker & 1))
		}
		plain := marker >> 33
		if uint64(len(words)) < 8*plain {
			return nil, nil, false
		}
		for ; plain > 0; plain-- {
			b, words = append(b, binary.BigEndian.Uint64(words)), words[8:]
		}
	}
	return b, rest, true
}
