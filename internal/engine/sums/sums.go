// Package sums returns the SHA-256 of contents without computing it twice.
//
//	var known sums.Recent
//	h := known.Remember(content)  // computed
//	h, err := known.File(f)       // compared with content, as long as that is in memory
//
// Comparing two contents takes a twentieth of the time that hashing one takes.
package sums

import (
	"bytes"
	"crypto/sha256"
	"io"
	"os"
	"sync"
	"unsafe"
	"weak"
)

// Hash is the SHA-256 of a content.
type Hash = [sha256.Size]byte

// Recent remembers the last contents that it was told to, without keeping them in memory. The zero value is ready, and
// nil remembers nothing. It is safe for concurrent use.
type Recent struct {
	mu   sync.Mutex
	last [8]known
	next int
}

type known struct {
	start weak.Pointer[byte]
	size  int
	hash  Hash
}

// least is the size from which contents are remembered.
const least = 64 << 10

// Of returns the hash of a content.
func (r *Recent) Of(content []byte) Hash {
	for _, k := range r.ofSize(int64(len(content))) {
		if bytes.Equal(k.content, content) {
			return k.hash
		}
	}
	return sha256.Sum256(content)
}

// Remember returns the hash of a content, which must not be changed afterwards.
func (r *Recent) Remember(content []byte) Hash {
	h := r.Of(content)
	if r != nil && len(content) >= least {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.last[r.next] = known{weak.Make(unsafe.SliceData(content)), len(content), h}
		r.next = (r.next + 1) % len(r.last)
	}
	return h
}

// File returns the hash of the content of a file that was just opened.
func (r *Recent) File(f *os.File) (Hash, error) {
	if info, err := f.Stat(); err == nil {
		for _, k := range r.ofSize(info.Size()) {
			if equal(f, k.content) {
				return k.hash, nil
			}
		}
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return Hash{}, err
	}
	return Hash(sum.Sum(nil)), nil
}

type inMemory struct {
	content []byte
	hash    Hash
}

// ofSize returns the remembered contents of a size that are still in memory.
func (r *Recent) ofSize(size int64) []inMemory {
	if r == nil || size < least {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []inMemory
	for _, k := range r.last {
		if start := k.start.Value(); start != nil && int64(k.size) == size {
			out = append(out, inMemory{unsafe.Slice(start, k.size), k.hash})
		}
	}
	return out
}

// equal reports whether a file has exactly this content.
func equal(f io.ReaderAt, content []byte) bool {
	buf := make([]byte, min(len(content)+1, 128<<10))
	for at := 0; ; {
		n, err := f.ReadAt(buf, int64(at))
		if n > len(content)-at || !bytes.Equal(buf[:n], content[at:at+n]) {
			return false
		}
		if at += n; err != nil {
			return err == io.EOF && at == len(content)
		}
	}
}
