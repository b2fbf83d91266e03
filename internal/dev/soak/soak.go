// Package soak scales long tests. ADZE_SOAK=1 selects the full counts and sizes, a fraction that part of them; without
// it tests use their usual counts.
//
//	for range soak.Count(20, 2000) { // 20; 200 with ADZE_SOAK=0.1; 2000 with ADZE_SOAK=1
package soak

import (
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that selects a part. Tests pass it to processes that run tests for them.
const Variable = "ADZE_SOAK"

// Share returns the selected part of the full counts; 0 if none.
func Share() float64 {
	share, err := strconv.ParseFloat(os.Getenv(Variable), 64)
	if err != nil {
		return 0
	}
	return max(0, share)
}

// On reports whether a part is selected.
func On() bool { return Share() > 0 }

// Count returns the selected part of full, and never less than usual.
func Count(usual, full int) int { return max(usual, int(Share()*float64(full))) }

// Skip skips a test if the selected part is no more than its usual count: make test runs it.
func Skip(t testing.TB, usual, full int) {
	t.Helper()
	if On() && Share()*float64(full) <= float64(usual) {
		t.Skipf("ADZE_SOAK=%s asks for no more than make test runs", os.Getenv(Variable))
	}
}

// OneIn returns n for tests that run every n-th of their cases: usual, fewer if a part is asked for, and 1 for the full
// counts.
func OneIn(usual int) int { return max(1, int(min(float64(usual), 1/max(0.01, Share())))) }
