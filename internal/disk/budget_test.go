package disk

import (
	"testing"
	"testing/synctest"
	"time"
)

// An answer that looks at few entries may take a second: a busy machine needs that long now and then.
func TestFewEntriesMayTakeLong(t *testing.T) {
	for _, c := range []struct {
		took    time.Duration
		entries int
		want    bool
	}{
		{900 * time.Millisecond, fewEntries, true},
		{1100 * time.Millisecond, fewEntries, false},
		{10 * time.Millisecond, fewEntries + 1, true},
		{30 * time.Millisecond, fewEntries + 1, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := New(Options{}).budget()
			time.Sleep(c.took)
			if got := b.spend(c.entries); got != c.want {
				t.Errorf("%d entries in %v: %v, want %v", c.entries, c.took, got, c.want)
			}
		})
	}
}
