package session

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/app/recording"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/model"
)

// metered is a reader that notes memory when some turns begin.
type metered struct {
	*reader
	at map[int]*runtime.MemStats // by turn
}

func (m metered) Stream(ctx context.Context, q model.Request) iter.Seq2[model.Event, error] {
	if s := m.at[m.done]; s != nil && s.Sys == 0 {
		runtime.GC()
		runtime.ReadMemStats(s)
	}
	return m.reader.Stream(ctx, q)
}

// Over 500 turns with results of 20 KB, what a turn allocates and what is in memory stay the same, so its time does too;
// both grow and shrink by what was said since the last compaction. What a journal keeps for a rewind used to grow.
func TestLongRunsStayFlat(t *testing.T) {
	serial.Test(t)
	d := newDesk(t)
	r := &reader{path: filepath.Join(d.dir, "big.txt"), turns: 501}
	line := strings.Repeat("x", 499) + "\n"
	if err := os.WriteFile(r.path, []byte(strings.Repeat(line, 700)), 0o600); err != nil { // a result is 40 lines
		t.Fatal(err)
	}
	m := metered{r, map[int]*runtime.MemStats{}}
	for _, turn := range []int{50, 100, 250, 300, 450, 500} {
		m.at[turn] = &runtime.MemStats{}
	}
	s, err := d.try(&recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d.say(t, s.Converse(t.Context(), ConversationOptions{Model: m}), "Read it again and again.")
	allocated := func(turn int) uint64 { return (m.at[turn].TotalAlloc - m.at[turn-50].TotalAlloc) / 50 }
	t.Logf("%d summaries", r.sums)
	for _, turn := range []int{100, 300, 500} {
		t.Logf("turn %d: %d KB allocated per turn, %d KB in memory", turn, allocated(turn)>>10, m.at[turn].HeapAlloc>>10)
		if a, b := allocated(turn), allocated(100); a > b+b/2 {
			t.Errorf("turn %d allocates %d bytes, %d at turn 100", turn, a, b)
		}
		if a, b := m.at[turn].HeapAlloc, m.at[100].HeapAlloc; a > b+b/2 {
			t.Errorf("%d bytes are in memory at turn %d, %d at turn 100", a, turn, b)
		}
	}
}
