package builtin

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/engine/search"
)

// stillThere agrees with a simple implementation.
func TestStillThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.StringMatching(`(a|b|\r|\n){0,12}`).Draw(t, "content")
		var lines []search.Line
		for n, number := rapid.IntRange(0, 3).Draw(t, "lines"), 0; len(lines) < n; {
			number += rapid.IntRange(1, 3).Draw(t, "step")
			lines = append(lines, search.Line{
				Number: number, Cut: rapid.Bool().Draw(t, "cut"), Text: rapid.StringMatching(`(a|b){0,2}\r?`).Draw(t, "text"),
			})
		}
		wantOK, split := true, bytes.Split([]byte(content), []byte("\n"))
		for _, l := range lines {
			if l.Number > len(split) || !l.Cut && strings.TrimSuffix(string(split[l.Number-1]), "\r") != strings.TrimSuffix(l.Text, "\r") {
				wantOK = false
			}
		}
		total, ok := stillThere([]byte(content), lines)
		want := len(split)
		if len(split[want-1]) == 0 {
			want--
		}
		if ok != wantOK || ok && total != want {
			t.Fatalf("%q %+v: got %d, %v, want %d, %v", content, lines, total, ok, want, wantOK)
		}
	})
}
