package shell_test

import (
	"testing"

	"github.com/adze-dev/adze/internal/dev/bashlab"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
)

func TestMain(m *testing.M) { bashlab.Main(m, nil) }

// Bash runs the commands that were read, with their arguments and in their directories, and opens the files that were read.
func TestReadingIsBash(t *testing.T) {
	serial.Test(t)
	t.Parallel()
	r := bashlab.StartRecorder(t)
	s := bashlab.Rand()
	g := bashlab.NewGenerator(s, bashlab.ReadCorpus(t, "../testdata"))
	for range soak.Count(500, 50000) {
		r.Check(t, g.Syntax(), bashlab.Pick(s, bashlab.Locales))
	}
	for range soak.Count(200, 20000) {
		r.Check(t, g.Flow(), bashlab.Pick(s, bashlab.Locales))
	}
	t.Log(r)
}

// The parser reported no comment behind coproc that ends in a backslash.
func TestReadingIsBashEverywhere(t *testing.T) {
	t.Parallel()
	r := bashlab.StartRecorder(t)
	every, n := soak.OneIn(25), 0
	for line := range bashlab.Everywhere() {
		if n++; n%every == 0 {
			r.Check(t, line, "C")
		}
	}
	t.Log(r)
}

// FuzzReadingIsBash compares the reading of the lines of a fuzzer with bash.
func FuzzReadingIsBash(f *testing.F) {
	bashlab.ReadCorpus(f, "../testdata").AddSeeds(f)
	if !bashlab.Fuzzing() && !soak.On() {
		f.Skip("TestReadingIsBash runs lines of the corpus")
	}
	r := bashlab.StartRecorder(f)
	n, every := 0, soak.OneIn(100)
	f.Fuzz(func(t *testing.T, line string) {
		if n++; bashlab.Fuzzing() || n%every == 0 {
			r.Check(t, line, "C.UTF-8")
		}
	})
}
