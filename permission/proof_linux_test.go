package permission_test

import (
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/adze-dev/adze/internal/soak"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// share is which part of the long tests is run: a hundredth, unless ADZE_SOAK says more.
func share() float64 { return max(0.01, soak.Share()) }

// oneIn is of how many cases one is run: of each, with the full counts; of usual, with none asked for.
func oneIn(usual int) int { return max(1, int(min(float64(usual), 1/share()))) }

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
	t.Parallel()
	if !inBox("git") {
		t.Skip("no git in the box")
	}
	lines, proof := attacks(t)
	b := startBox(t)
	every := oneIn(20)
	proved := 0
	for i, n := range sortedLines(lines) {
		if !proof[n] || i%every != 0 || missing(lines[n]) {
			continue
		}
		e := b.run(t, order{Command: lines[n]})
		if e.harm() == "" { // a busy machine may not have come to it
			e = b.run(t, order{Command: lines[n], Patient: true})
		}
		if e.harm() == "" {
			t.Errorf("attacks.txt:%d: does no harm: %s\n%d: %s", n, lines[n], e.Code, e.Output)
		}
		proved++
	}
	t.Logf("%d attacks proved", proved)
}

// missing reports whether a line is about a program that not every machine has, and this one has not.
func missing(line string) bool {
	name := strings.Fields(line)[0]
	return !inBox(name) && slices.Contains([]string{"tree", "rg", "gawk", "busybox", "fd"}, name)
}

// The harmless commands do none.
func TestHarmlessDoNoHarm(t *testing.T) {
	t.Parallel()
	lines := harmlessCommands(t)
	b := startBox(t)
	every := oneIn(20)
	for i, n := range sortedLines(lines) {
		if i%every != 0 {
			continue
		}
		if permission.New(calmWorld(), permission.Default).Judge(commandRequest(lines[n])).Verdict != tool.Allow {
			continue // it is tried
		}
		if e := b.run(t, order{Command: lines[n], Unasked: true}); e.harm() != "" {
			t.Errorf("harmless.txt:%d: %s: %s", n, lines[n], e.harm())
		}
	}
}

// Whatever is made up: what is judged to run unasked changes no file, connects nowhere, starts nothing that lies in the
// workspace and tells no secret, when it is run with real bash where it could. Now and then the repository is a hostile
// one.
func TestUnaskedIsHarmless(t *testing.T) {
	t.Parallel()
	seed := uint64(1)
	if s, err := strconv.ParseUint(os.Getenv("ADZE_SEED"), 10, 64); err == nil {
		seed = s
	}
	s := newSpeaker(t, seed)
	b := startBox(t)
	p := permission.New(calmWorld(), permission.Default)
	made, unasked, ran := int(200000*share()/10), 0, 0
	for range made {
		line := s.say()
		if p.Judge(commandRequest(line)).Verdict != tool.Allow || slow(line) {
			continue
		}
		unasked++
		o := order{Command: line, Unasked: true, Judge: true}
		if strings.Contains(line, "git ") && s.IntN(10) == 0 {
			o.Setup = []string{pick(s, hostile).setup}
		}
		e := b.run(t, o)
		if e.harm() != "" {
			t.Errorf("%q after %q: %s", line, o.Setup, e.harm())
		}
		if !e.Asked {
			ran++
		}
	}
	t.Logf("%d commands made up, %d of them unasked on a calm disk, %d on that of the box and run", made, unasked, ran)
}

// slow are commands that only wait.
func slow(line string) bool {
	for _, word := range []string{"sleep", "tail -f", "-F", "--follow", "-f "} {
		if strings.Contains(line, word) {
			return true
		}
	}
	return false
}

// FuzzUnasked runs what is judged to run unasked, whatever a fuzzer comes up with.
func FuzzUnasked(f *testing.F) {
	lines, _ := attacks(f)
	for _, n := range sortedLines(lines) {
		f.Add(lines[n])
	}
	for _, line := range harmlessCommands(f) {
		f.Add(line)
	}
	p := permission.New(calmWorld(), permission.Default)
	open := sync.OnceValues(func() (*box, error) { return openBox(boxVariable) })
	n, every := 0, oneIn(10)
	f.Fuzz(func(t *testing.T, line string) {
		if p.Judge(commandRequest(line)).Verdict != tool.Allow || slow(line) || strings.ContainsRune(line, 0) || share() < 0.1 {
			return
		}
		if n++; n%every != 0 {
			return
		}
		b, err := open()
		if err != nil {
			t.Skipf("no box here, so nothing is run: %v", err)
		}
		if e := b.run(t, order{Command: line, Unasked: true, Judge: true}); e.harm() != "" {
			t.Errorf("%q: %s", line, e.harm())
		}
	})
}
