// Package soak says how much of the long tests is run. ADZE_SOAK=1 asks for the full counts and sizes, a fraction for that
// part of them; without it tests do what they usually do.
//
//	for range soak.Count(20, 2000) { // 20; 200 with ADZE_SOAK=0.1; 2000 with ADZE_SOAK=1
package soak

import (
	"os"
	"strconv"
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
