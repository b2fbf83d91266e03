package cli

import (
	"strings"
	"testing"
)

// However an answer is cut into pieces, it is printed as a whole would be: without blank lines around it, and a line is
// ended as soon as that is known.
func TestWordsInPieces(t *testing.T) {
	whole := "\n \nOne line.\n\n  Two lines,\n\tthree.  \n\n\n"
	for size := 1; size <= len(whole); size++ {
		var w words
		var got strings.Builder
		for rest := whole; rest != ""; {
			n := min(size, len(rest))
			got.WriteString(w.next(rest[:n]))
			rest = rest[n:]
		}
		if want := "One line.\n\n  Two lines,\n\tthree.\n"; got.String() != want {
			t.Errorf("pieces of %d: got %q, want %q", size, got.String(), want)
		}
	}
}
