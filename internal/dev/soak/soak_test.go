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

func TestSkip(t *testing.T) {
	for env, want := range map[string]bool{"": false, "0": false, "0.1": true, "0.25": true, "0.3": false, "1": false} {
		t.Run(env, func(t *testing.T) {
			t.Setenv("ADZE_SOAK", env)
			skipped := true
			t.Run("test", func(t *testing.T) {
				defer func() { skipped = t.Skipped() }()
				Skip(t, 25, 100)
			})
			if skipped != want {
				t.Errorf("skipped: %v", skipped)
			}
		})
	}
}

func TestOneIn(t *testing.T) {
	for env, want := range map[string]int{"": 25, "0.01": 25, "0.1": 10, "0.5": 2, "1": 1, "2": 1} {
		t.Setenv("ADZE_SOAK", env)
		if got := OneIn(25); got != want {
			t.Errorf("ADZE_SOAK=%q: %d", env, got)
		}
	}
}
