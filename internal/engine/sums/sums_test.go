package sums_test

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/adze-dev/adze/internal/engine/sums"
)

// TestHashes compares every hash with SHA-256 itself: of contents that are known, that differ from a known one in one
// byte, that are longer or shorter, and whose memory was freed.
func TestHashes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(t.TempDir(), "f")
	var r sums.Recent
	var kept [][]byte // others are freed
	for i := range 60 {
		content := bytes.Repeat([]byte{byte(i), 'a'}, random.IntN(200_000))
		if len(kept) > 0 && i%2 == 0 {
			content = bytes.Clone(kept[random.IntN(len(kept))])
			switch at := random.IntN(len(content) + 1); {
			case i%6 == 0:
			case i%6 == 2 && at < len(content):
				content[at]++
			default:
				content = content[:at]
			}
		}
		if r.Remember(content) != sha256.Sum256(content) {
			t.Fatalf("%d: another hash of %d bytes", i, len(content))
		}
		if i%3 == 0 {
			kept = append(kept, content)
		}
		if i%7 == 0 {
			runtime.GC()
		}
		other := bytes.Clone(content)
		if i%4 == 1 {
			other = append(other, 'x')
		}
		if len(other) > 0 && i%4 == 2 {
			other[random.IntN(len(other))]++
		}
		if err := os.WriteFile(path, other, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, known := range []*sums.Recent{&r, nil} {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			h, err := known.File(f)
			f.Close()
			if err != nil || h != sha256.Sum256(other) || known.Of(other) != h {
				t.Fatalf("%d: %d bytes: %v", i, len(other), err)
			}
		}
	}
}

// TestKnownContentIsCompared shows that a content in memory isn't hashed again: the hash of another one is returned if
// its memory is changed, which callers must not do.
func TestKnownContentIsCompared(t *testing.T) {
	var r sums.Recent
	content := bytes.Repeat([]byte("a"), 100_000)
	h := r.Remember(content)
	content[0] = 'b'
	if got := r.Of(bytes.Clone(content)); got != h {
		t.Error("the content was hashed again")
	}
	runtime.KeepAlive(content)
}
