package undo_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/adze-dev/adze/internal/app/undo"
)

// BenchmarkBase saves a workspace of 30,000 files and 100 MB, and BenchmarkScan looks for changes in it.
func BenchmarkBase(b *testing.B) {
	p := large(b)
	for b.Loop() {
		p.home = b.TempDir()
		p.open(undo.Limits{FileBytes: 4 << 20, Bytes: 512 << 20, Files: 100_000})
		p.call(func() {})
	}
}

func BenchmarkScans(b *testing.B) {
	p := large(b)
	p.call(func() {})
	for b.Loop() {
		p.call(func() {}) // two scans
	}
}

func large(b *testing.B) *place {
	b.Helper()
	p := newPlace(b)
	for i := range 30_000 {
		p.write(fmt.Sprintf("d%d/e%d/f%d", i/1000, i/50%20, i), string(bytes.Repeat([]byte(fmt.Sprintf("line %d\n", i)), 300)))
	}
	return p
}
