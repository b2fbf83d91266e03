package cli

import (
	"io"
	"testing"
)

// What every command but version pays before it does anything.
func BenchmarkOpenSession(b *testing.B) {
	env := Env{Dir: b.TempDir(), Home: b.TempDir(), Stderr: io.Discard, Getenv: func(string) string { return "" }}
	for b.Loop() {
		s, err := openSession(env, &options{}, oneCall)
		if err != nil {
			b.Fatal(err)
		}
		s.close(env)
	}
}
