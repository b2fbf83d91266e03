// Package gitindex reads the index of a git repository, without running git: versions 2, 3 and 4, with object names of
// SHA-1 and SHA-256.
//
//	split, err := gitindex.Parse(data, 20, func(e gitindex.Entry) error { … })
//
// It checks the structure, not the checksum. A sparse index is an error, because it doesn't list all files.
package gitindex

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed reports data that isn't an index, or not a supported one.
var ErrMalformed = errors.New("the index of the repository could not be read")

// File types in an entry's mode.
const (
	TypeMask  = 0o170000
	Regular   = 0o100000
	Gitlink   = 0o160000
	directory = 0o040000 // of a sparse index: the files below aren't listed
)

// Entry is one file of an index.
type Entry struct {
	Name []byte // relative to the top of the working tree, with slashes; valid until the visit returns
	Mode uint32
	Size uint32 // of the file when git last compared it, modulo 2³²; 0 in entries that git doesn't trust
}

// Parse visits the entries of an index. hashSize is the size of object names, 20 or 32. split is nil unless other
// entries are in a shared index, which [Split.Parse] visits.
func Parse(data []byte, hashSize int, visit func(Entry) error) (split *Split, err error) {
	if len(data) < 12+hashSize || string(data[:4]) != "DIRC" {
		return nil, ErrMalformed
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return nil, fmt.Errorf("version %d: %w", version, ErrMalformed)
	}
	e := entries{rest: data[12 : len(data)-hashSize], hashSize: hashSize, version: version}
	var replacements []Entry // they have no name: they have that of the entry they replace
	for ; count > 0; count-- {
		entry, ok := e.next()
		if !ok || entry.Mode&TypeMask == directory {
			return nil, ErrMalformed
		}
		if len(entry.Name) == 0 {
			replacements = append(replacements, Entry{Mode: entry.Mode, Size: entry.Size})
			continue
		}
		if err := visit(entry); err != nil {
			return nil, err
		}
	}
	if split, err = parseSplit(e.rest, hashSize); err != nil || split == nil && len(replacements) > 0 {
		return nil, ErrMalformed
	}
	if split != nil {
		split.replacements = replacements
	}
	return split, nil
}

type entries struct {
	rest     []byte
	hashSize int
	version  uint32
	name     []byte
}

// next reads an entry: ten 4-byte numbers, of which the seventh is the mode and the last the size, then the hash,
// flags, and the name.
func (e *entries) next() (entry Entry, ok bool) {
	fixed := 40 + e.hashSize + 2
	if len(e.rest) < fixed+2 {
		return Entry{}, false
	}
	entry.Mode, entry.Size = binary.BigEndian.Uint32(e.rest[24:]), binary.BigEndian.Uint32(e.rest[36:])
	if e.rest[fixed-2]&0x40 != 0 { // more flags
		if e.version == 2 {
			return Entry{}, false
		}
		fixed += 2
	}
	name := e.rest[fixed:]
	kept := 0
	if e.version == 4 {
		strip, n := offset(name)
		if n == 0 || strip > uint64(len(e.name)) {
			return Entry{}, false
		}
		kept, name, fixed = len(e.name)-int(strip), name[n:], fixed+n
	}
	end := bytes.IndexByte(name, 0)
	if end < 0 {
		return Entry{}, false
	}
	e.name = append(e.name[:kept], name[:end]...)
	size := fixed + end + 1
	if e.version < 4 {
		size = (fixed + end + 8) &^ 7 // one to eight NULs
	}
	if size > len(e.rest) {
		return Entry{}, false
	}
	e.rest = e.rest[size:]
	entry.Name = e.name
	return entry, true
}

// offset reads a number in git's variable-width format; n is 0 without one.
func offset(b []byte) (value uint64, n int) {
	for i, c := range b {
		if value = value<<7 | uint64(c&0x7f); c&0x80 == 0 {
			return value, i + 1
		}
		if value++; i > 6 {
			break
		}
	}
	return 0, 0
}
