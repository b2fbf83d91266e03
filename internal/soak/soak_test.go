package soak

import "testing"

func TestCount(t *testing.T) {
	for env, want := range map[string]int{"": 20, "0": 20, "no": 20, "-1": 20, "0.001": 20, "0.1": 200, "1": 2000} {
		t.Setenv("ADZE_SOAK", env)
		if got := Count(20, 2000); got != want || On() != (env == "0.001" || env == "0.1" || env == "1") {
			t.Errorf("ADZE_SOAK=%q: %d, %v", env, got, On())
		}
	}
}
