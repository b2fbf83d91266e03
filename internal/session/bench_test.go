package session

import "testing"

// What every command but version pays before it does anything.
func BenchmarkOpenSession(b *testing.B) {
	env := Env{Home: b.TempDir(), Getenv: func(string) string { return "" }}
	dir := Canonical(b.TempDir())
	for b.Loop() {
		s, err := Open(env, Options{Dir: dir, SingleCall: true})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
