package proc

import (
	"os"
	"os/exec"
	"testing"
	"time"
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

// As an agent calls it: with a pause in between, in which the next keeper is
// started.
func BenchmarkTrueKeeperPaused(b *testing.B) {
	r := opened(b, Options{State: b.TempDir()})
	env := Environ(os.Environ(), nil)
	for b.Loop() {
		b.StopTimer()
		r.keeper.filling.Wait()
		time.Sleep(10 * time.Millisecond)
		b.StartTimer()
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
