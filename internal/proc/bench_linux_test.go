package proc

import (
	"os"
	"os/exec"
	"testing"
)

// The cost of a keeper is the difference between these.

func BenchmarkTruePlain(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/bash", "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTrueKeeper(b *testing.B) {
	r := opened(b, Options{State: b.TempDir()})
	env := Environ(os.Environ(), nil)
	for b.Loop() {
		run(b, r, Command{Line: "true", Env: env})
	}
}

func BenchmarkTrueBare(b *testing.B) {
	r := bareRunner(b)
	env := Environ(os.Environ(), nil)
	for b.Loop() {
		run(b, r, Command{Line: "true", Env: env})
	}
}
