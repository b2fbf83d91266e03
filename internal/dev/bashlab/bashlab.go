// Package bashlab makes up lines of bash, runs them with real bash where they can do no harm, and compares what bash
// did with what permission/shell reads in them. Only tests import it.
//
// A [Generator] makes up lines from a grammar. On Linux, a [Recorder] runs a line with programs that only write down
// how they are called, and reports where the reading differs. A [Runner] runs a line with real programs and reports
// what it changed, contacted and printed. Both run in their own namespaces, in a second process of the test:
//
//	func TestMain(m *testing.M) { bashlab.Main(m, nil) }
//
//	func TestReading(t *testing.T) {
//		r := bashlab.StartRecorder(t) // skips the test where namespaces aren't allowed
//		g := bashlab.NewGenerator(bashlab.Rand(), bashlab.ReadCorpus(t, "testdata"))
//		for range 1000 {
//			r.Check(t, g.Syntax(), "C.UTF-8")
//		}
//	}
package bashlab

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/permission/shell/form"
)

// Root and Home are the workspace and the home directory in which lines run.
const (
	Root = "/home/me/app"
	Home = "/home/me"
)

// Line is a line of a file in testdata.
type Line struct {
	Number  int
	Text    string
	Harmful bool // marked with !: it does harm where it runs
}

// ReadLines reads a file with one line of bash per line, in which ⏎ stands for a newline. It skips empty lines and
// comments, which start with "# ".
func ReadLines(t testing.TB, file string) (lines []Line) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line != "" && !strings.HasPrefix(line, "# ") {
			lines = append(lines, Line{Number: i + 1, Text: strings.ReplaceAll(line, "⏎", "\n")})
		}
	}
	return lines
}

// Corpus is what a Generator takes whole lines and words from.
type Corpus struct{ Harmless, Attacks []Line }

// ReadCorpus reads harmless.txt and attacks.txt in a directory.
func ReadCorpus(t testing.TB, dir string) Corpus {
	t.Helper()
	c := Corpus{ReadLines(t, filepath.Join(dir, "harmless.txt")), ReadLines(t, filepath.Join(dir, "attacks.txt"))}
	for i := range c.Attacks {
		c.Attacks[i].Text, c.Attacks[i].Harmful = strings.CutPrefix(c.Attacks[i].Text, "!")
	}
	return c
}

// All returns the text of all lines.
func (c Corpus) All() (lines []string) {
	for _, l := range slices.Concat(c.Harmless, c.Attacks) {
		lines = append(lines, l.Text)
	}
	return lines
}

// Rand returns the source of random numbers for the seed in ADZE_SEED, which is 1 by default.
func Rand() *rand.Rand {
	seed, err := strconv.ParseUint(os.Getenv("ADZE_SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	return rand.New(rand.NewPCG(seed, seed))
}

// Flags returns the flags of every program on the read-only list, by names such as "sort" and "git log". Flags are
// written
// -a, -n VALUE and --color[=VALUE].
var Flags = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{"git": {}}
	for name, options := range form.Options() {
		flags := []string{}
		for f, kind := range options {
			switch {
			case f == "-#":
				f = "-5"
			case kind == ':', kind == '@', kind == '%':
				f += " VALUE"
			case kind == '?' && len(f) > 2:
				f += "[=VALUE]"
			case kind == '?':
				f += "[VALUE]"
			}
			flags = append(flags, f)
		}
		slices.Sort(flags)
		all[name] = flags
	}
	return all
})

// Fuzzing reports whether go test fuzzes, rather than running the tests and the seeds of fuzz targets.
func Fuzzing() bool {
	f := flag.Lookup("test.fuzz")
	return f != nil && f.Value.String() != ""
}

// AddSeeds adds lines to a fuzz target: all, or some of them while it fuzzes, because go test runs every seed first.
func (c Corpus) AddSeeds(f *testing.F) {
	for i, line := range c.All() {
		if !Fuzzing() || i%25 == 0 {
			f.Add(line)
		}
	}
}
