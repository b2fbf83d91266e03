package disk

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// errIndex says that an index is not one, or not of a kind that is read here.
var errIndex = errors.New("the index of the repository could not be read")

const (
	modeGitlink = 0o160000
	modeFolder  = 0o040000 // of a sparse index: what is below is not listed
	maxGitlinks = 500
)

// gitlinks lists the places of submodules in a repository's index. hashSize is that of the object names; 0: 20.
func gitlinks(gitDir string, hashSize int) (paths []string, err error) {
	err = eachEntry(gitDir, hashSize, func(name string, mode uint32) error {
		if mode&0o170000 != modeGitlink {
			return nil
		}
		if paths = append(paths, name); len(paths) > maxGitlinks {
			return errTooMuch
		}
		return nil
	})
	return paths, err
}

// eachEntry visits the entries of a repository's index, also those of one that it shares.
func eachEntry(gitDir string, hashSize int, visit func(name string, mode uint32) error) error {
	if hashSize == 0 {
		hashSize = 20
	}
	data, err := read(gitDir+"/index", maxIndex)
	if err != nil {
		if absent(err) {
			return nil
		}
		return err
	}
	shared, err := parseIndex(data, hashSize, visit)
	if err != nil || shared == "" {
		return err
	}
	if data, err = read(gitDir+"/sharedindex."+shared, maxIndex); err != nil {
		return err
	}
	shared, err = parseIndex(data, hashSize, visit)
	if err == nil && shared != "" {
		err = fmt.Errorf("a shared index of a shared index: %w", errIndex)
	}
	return err
}

// parseIndex reads the entries of an index of version 2, 3 or 4; shared names the file that holds the rest of a split
// one.
func parseIndex(data []byte, hashSize int, visit func(name string, mode uint32) error) (shared string, err error) {
	if len(data) < 12+hashSize || string(data[:4]) != "DIRC" {
		return "", errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return "", fmt.Errorf("version %d: %w", version, errIndex)
	}
	e := indexEntries{rest: data[12 : len(data)-hashSize], hashSize: hashSize, version: version}
	for ; count > 0; count-- {
		mode, ok := e.next()
		if !ok || mode&0o170000 == modeFolder {
			return "", errIndex
		}
		if err := visit(string(e.name), mode); err != nil {
			return "", err
		}
	}
	return sharedIndex(e.rest, hashSize)
}

// sharedIndex finds the extension of a split index.
func sharedIndex(rest []byte, hashSize int) (string, error) {
	for len(rest) > 0 {
		if len(rest) < 8 {
			return "", errIndex
		}
		size := uint64(binary.BigEndian.Uint32(rest[4:]))
		if uint64(len(rest)-8) < size {
			return "", errIndex
		}
		body := rest[8 : 8+size]
		if string(rest[:4]) == "link" {
			if len(body) < hashSize {
				return "", errIndex
			}
			if id := body[:hashSize]; len(bytes.Trim(id, "\x00")) > 0 {
				return hex.EncodeToString(id), nil
			}
		}
		rest = rest[8+size:]
	}
	return "", nil
}

type indexEntries struct {
	rest     []byte
	hashSize int
	version  uint32
	name     []byte
}

// next reads an entry: ten numbers of four bytes, the seventh of them the mode, the hash, flags, and the name.
func (e *indexEntries) next() (mode uint32, ok bool) {
	fixed := 40 + e.hashSize + 2
	if len(e.rest) < fixed+2 {
		return 0, false
	}
	mode = binary.BigEndian.Uint32(e.rest[24:])
	if e.rest[fixed-2]&0x40 != 0 { // more flags
		if e.version == 2 {
			return 0, false
		}
		fixed += 2
	}
	name := e.rest[fixed:]
	kept := 0
	if e.version == 4 {
		strip, n := offset(name)
		if n == 0 || strip > uint64(len(e.name)) {
			return 0, false
		}
		kept, name, fixed = len(e.name)-int(strip), name[n:], fixed+n
	}
	end := bytes.IndexByte(name, 0)
	if end < 0 {
		return 0, false
	}
	e.name = append(e.name[:kept], name[:end]...)
	size := fixed + end + 1
	if e.version < 4 {
		size = (fixed + end + 8) &^ 7 // one to eight NULs
	}
	if size > len(e.rest) {
		return 0, false
	}
	e.rest = e.rest[size:]
	return mode, true
}

// offset reads a number in git's variable width; n is 0 if there is none.
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
