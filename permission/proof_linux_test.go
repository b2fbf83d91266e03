package permission_test

import (
	"os"
	"os/exec"
	"sort"
	"strconv"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// soak is which part of the long tests is run: a hundredth, unless ADZE_SOAK says more.
func soak() float64 {
	if f, err := strconv.ParseFloat(os.Getenv("ADZE_SOAK"), 64); err == nil {
		return f
	}
	return 0.02
}

func sortedLines(lines map[int]string) []int {
	var ns []int
	for n := range lines {
		ns = append(ns, n)
	}
	sort.Ints(ns)
	return ns
}

// The attacks that are marked do harm where they are run.
func TestAttacksDoHarm(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	lines, proof := attacks(t)
	b := startBox(t)
	every := max(1, int(1/min(1, soak()*5)))
	proved := 0
	for i, n := range sortedLines(lines) {
		if !proof[n] || i%every != 0 {
			continue
		}
		if e := b.run(t, order{Command: lines[n]}); e.harm() == "" {
			t.Errorf("attacks.txt:%d: does no harm: %s\n%d: %s", n, lines[n], e.Code, e.Output)
		}
		proved++
	}
	t.Logf("%d attacks proved", proved)
}

// The harmless commands do none.
func TestHarmlessDoNoHarm(t *testing.T) {
	lines := harmlessCommands(t)
	b := startBox(t)
	every := max(1, int(1/min(1, soak()*5)))
	for i, n := range sortedLines(lines) {
		if i%every != 0 {
			continue
		}
		d := permission.New(calmWorld(), permission.Default).Judge(commandRequest(lines[n]))
		if d.Verdict != tool.Allow {
			t.Errorf("harmless.txt:%d: %s", n, lines[n])
			continue
		}
		if e := b.run(t, order{Command: lines[n], Unasked: true}); e.harm() != "" {
			t.Errorf("harmless.txt:%d: %s: %s", n, lines[n], e.harm())
		}
	}
}
