package sandbox

import (
	"testing"
	"time"
)

// A meter counts when the system has less left, and freezes the trial meanwhile. What other programs use isn't the trial's.
func TestMeter(t *testing.T) {
	const limit = 1 << 30
	for name, c := range map[string]struct {
		lost, used     int64
		others         bool // not the trial's, as far as is known
		late           bool // the last count was long ago
		over, freezing bool
	}{
		"nothing happens":           {},
		"a little":                  {lost: limit / 2, used: limit / 2},
		"too much":                  {lost: limit + limit/8, used: limit + limit/8, over: true, freezing: true},
		"too much, others free":     {lost: -limit, used: 2 * limit, late: true, over: true},
		"too much, not yet counted": {lost: -limit, used: 2 * limit},
		"others":                    {lost: 4 * limit, others: true, freezing: true},
		"hidden":                    {lost: 4 * limit, used: 1 << 20, over: true, freezing: true},
	} {
		free, used := int64(100*limit), int64(0)
		m := &meter{
			limit: limit, rate: limit, every: time.Second,
			left: func() int64 { return free }, count: func() int64 { return used }, mine: func(int64) bool { return !c.others },
		}
		m.start()
		free, used = free-c.lost, c.used
		if m.at = time.Now().Add(time.Hour); c.late {
			m.at = time.Now().Add(-time.Hour)
		}
		frozen, froze := false, false
		over := m.over(func(on bool) { frozen, froze = on, true })
		if over != c.over || froze != c.freezing || frozen != (c.over && c.freezing) {
			t.Errorf("%s: over %v, frozen %v, before %v", name, over, frozen, froze)
		}
		if p := m.pause(); p > 3*time.Second || !over && c.lost >= 0 && c.lost < limit && p <= 0 {
			t.Errorf("%s: the next look is in %v", name, p)
		}
	}
}
