package search

import (
	"runtime"
	"testing"
)

// BenchmarkGrep searches Go's own tree; make bench-search compares with ripgrep.
func BenchmarkGrep(b *testing.B) {
	for _, q := range []struct {
		name string
		Query
		limit int
	}{
		{"rare", Query{Pattern: "IdleConnTimeout", Case: Sensitive}, 0},
		{"common", Query{Pattern: "return", Case: Sensitive}, 0},
		{"anycase", Query{Pattern: "todo", Case: Insensitive}, 0},
		{"limit50", Query{Pattern: "err", Case: Sensitive}, 50},
		{"noliteral1", Query{Pattern: `[a-z]{3}_[A-Z]+\d+`, Case: Sensitive}, 0},
		{"noliteral2", Query{Pattern: `[a-z]+\s+[0-9]{4,}`, Case: Sensitive}, 0},
		{"multiline", Query{Pattern: `\{\n\s+return nil`, Case: Sensitive, Multiline: true}, 0},
	} {
		b.Run(q.name, func(b *testing.B) {
			p := mustCompile(b, q.Query)
			for b.Loop() {
				if _, err := Grep(b.Context(), GrepRequest{Scope: Scope{Paths: []string{runtime.GOROOT()}}, Pattern: p, Limit: q.limit}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFiles lists Go's own tree.
func BenchmarkFiles(b *testing.B) {
	for b.Loop() {
		if _, err := Files(b.Context(), FilesRequest{Scope: Scope{Paths: []string{runtime.GOROOT()}}, Pattern: "**/*.go", Limit: 100}); err != nil {
			b.Fatal(err)
		}
	}
}
