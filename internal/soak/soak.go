// Package soak says how much of the long tests is run. ADZE_SOAK=1 asks for the full counts and sizes, a fraction for that
// part of them; without it tests do what they usually do.
//
//	for range soak.Count(20, 2000) { // 20; 200 with ADZE_SOAK=0.1; 2000 with ADZE_SOAK=1
package soak

import (
	"os"
	"strconv"
	"testing"
)

// Share returns the part of the full counts that is asked for: 0 if none is.
func Share() float64 {
	share, err := strconv.ParseFloat(os.Getenv("ADZE_SOAK"), 64)
	if err != nil {
		return 0
	}
	return max(0, share)
}

// On reports whether any part is asked for.
func On() bool { return Share() > 0 }

// Count returns the part of full that is asked for, and never less than usual.
func Count(usual, full int) int { return max(usual, int(Share()*float64(full))) }

// Skip skips a test if a part is asked for that is no more than what the test usually does: make test runs it.
func Skip(t testing.TB, usual, full int) {
	t.Helper()
	if On() && Share()*float64(full) <= float64(usual) {
		t.Skipf("ADZE_SOAK=%s asks for no more than make test runs", os.Getenv("ADZE_SOAK"))
	}
}

// OneIn returns n for tests that run every n-th of their cases: usual, fewer if a part is asked for, and 1 for the full counts.
func OneIn(usual int) int { return max(1, int(min(float64(usual), 1/max(0.01, Share())))) }
