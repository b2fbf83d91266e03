// Package waittest lets tests wait for a condition. A test that sleeps for a fixed time fails on a busy machine or is
// slower than necessary.
//
//	waittest.Until(t, "the child runs", func() bool { return exists(file) })
package waittest

import (
	"testing"
	"time"
)

// Limit is how long a condition may take, on the slowest machine.
const Limit = 3 * time.Minute

// pause is the time between two checks of a condition, at first. It grows to longest: tests wait for many seconds on a
// busy machine, and checks at each pause would keep it busy.
const (
	pause   = 2 * time.Millisecond
	longest = 20 * time.Millisecond
)

// Until waits until a condition holds. It fails the test after Limit.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !Holds(ok) {
		t.Fatalf("timed out after %v waiting until %s", Limit, what)
	}
}

// Holds waits until a condition holds, and reports whether it does. It returns false after Limit. Tests that describe a
// failure themselves use it, and the programs that tests start.
func Holds(ok func() bool) bool {
	for began := time.Now(); ; {
		check := time.Now()
		if ok() {
			return true
		}
		took, waited := time.Since(check), time.Since(began)
		if waited > Limit {
			return false
		}
		time.Sleep(max(pause, min(waited/50, longest), 2*took))
	}
}

// Hang blocks for longer than any test takes, as a server does that never answers.
func Hang() { time.Sleep(time.Hour) }
