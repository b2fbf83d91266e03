package trial

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// A few files are on disk before they are kept. Many aren't synced: that would take longer than all the rest.
func TestKeptFilesAreSynced(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"echo new > a; echo new > b":                           2,
		"mkdir d; touch d/f; rm a; ln -s a l":                  0,
		"for i in $(seq 16); do echo $i > f$i; done":           16,
		"for i in $(seq 17); do echo $i > f$i; done":           0,
		"echo more >> two; chmod 600 a; touch -d 2020-01-01 a": 1,
	} {
		b := opened(t, Options{})
		b.kinds()
		b.write("a", "old\n")
		tried, _, _ := b.try(line)
		var points []string
		b.layers.at = func(point string) { points = append(points, point) }
		if _, err := tried.Keep(context.Background(), nil); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		synced := 0
		for i, point := range points {
			if strings.HasPrefix(point, "synced ") {
				if synced++; i > slices.Index(points, "before the journal") {
					t.Errorf("%s: synced too late: %v", line, points)
				}
			}
		}
		if synced != want {
			t.Errorf("%s: %d files were synced, want %d", line, synced, want)
		}
	}
}
