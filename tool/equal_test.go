package tool_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/adze-dev/adze/internal/soak"
	"github.com/adze-dev/adze/tool"
)

// A batch gives byte for byte the results and the files of its calls run one by one.
func TestEqualsOneByOne(t *testing.T) {
	batches, calls := 60+int(3000*soak.Share()), 40
	for seed := range batches {
		rnd := rand.New(rand.NewPCG(uint64(seed), 7))
		files := map[string]string{"f0": "00", "f1": "11", "f2": "22", "f3": "33"}
		links := map[string]string{"l0": "f0", "l1": "f1"}
		var lines []string
		for range calls {
			lines = append(lines, randomLine(rnd))
		}
		one := newWorld(files)
		maps.Copy(one.links, links)
		x := one.executor()
		x.Policy = readOnlyGrant
		var want []tool.Outcome
		for _, line := range lines {
			want = append(want, begin(t.Context(), x, line).Wait()...)
		}

		all := newWorld(files)
		maps.Copy(all.links, links)
		y := all.executor()
		y.Policy = readOnlyGrant
		got := begin(t.Context(), y, lines...).Wait()
		wantSame(t, fmt.Sprintf("outcomes of batch %d", seed), says(want), says(got))
		wantSame(t, fmt.Sprintf("files after batch %d", seed), one.snapshot(), all.snapshot())
		if t.Failed() {
			t.Fatalf("the calls of batch %d: %q", seed, lines)
		}
	}
}

// randomLine reads, edits, creates, and runs commands that read, write or turn a link round.
func randomLine(rnd *rand.Rand) string {
	names := []string{"f0", "f1", "f2", "f3", "f4", "l0", "l1"}
	path := names[rnd.IntN(len(names))]
	digit := func() int { return rnd.IntN(5) }
	switch rnd.IntN(12) {
	case 0, 1, 2:
		return "read " + path
	case 3, 4, 5:
		return fmt.Sprintf("edit %s %d %d%d", path, digit(), digit(), digit())
	case 6, 7:
		return fmt.Sprintf("write %s %d%d%d", path, digit(), digit(), digit())
	case 8:
		return fmt.Sprintf("exec append %d %s", digit(), path)
	case 9:
		return fmt.Sprintf("exec ln f%d l%d", rnd.IntN(5), rnd.IntN(2))
	default:
		return "exec cat " + path
	}
}
