package sandbox

import "testing"

// Doctor names a bubblewrap that has no overlays.
func TestOverlaysOf(t *testing.T) {
	for version, want := range map[string]string{
		"bubblewrap 0.8.0\n":  "bubblewrap 0.8.0 can't mount overlays either; 0.11.0 and later can",
		"bubblewrap 0.11.0\n": "Adze doesn't use the overlays of bubblewrap 0.11.0",
		"bubblewrap 1.0\n":    "Adze doesn't use the overlays of bubblewrap 1.0",
		"":                    "",
		"usage: bwrap":        "",
	} {
		if got := overlaysOf(version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}
