package term

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Streams made of sequences that mean something reach further than mutated
// bytes do.
func TestCookRandomSequences(t *testing.T) {
	finals := "ABCDEFGHJKPX@adefsu`hlm"
	odd := []string{"\x1b7", "\x1b8", "\x1bM", "\x1bD", "\x1bE", "\x1bc", "\x1b]0;x\x07", "\x1bP1\x1b\\", "\x18", "\x1b(", "\x1b[?5", "\xff", "é", "漢字", "\x00", "\x1b[1;", "\x7f"}
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 5))
		var b strings.Builder
		for range r.IntN(120) {
			switch r.IntN(9) {
			case 0, 1:
				fmt.Fprintf(&b, "\x1b[%dm\x1b[%d%c", r.IntN(40), r.IntN(9), finals[r.IntN(len(finals))])
			case 2:
				fmt.Fprintf(&b, "\x1b[%d;%d%c", r.IntN(80), r.IntN(600), finals[r.IntN(len(finals))])
			case 3:
				b.WriteString(strings.Repeat("\n", r.IntN(4)))
			case 4:
				b.WriteString(strings.Repeat("\b", r.IntN(4)) + "\r")
			case 5:
				b.WriteString(odd[r.IntN(len(odd))])
			case 6:
				if r.IntN(8) == 0 {
					b.WriteString(strings.Repeat("long", r.IntN(Width/2)))
				}
			default:
				fmt.Fprintf(&b, "word%d\t", r.IntN(1000))
			}
		}
		in := b.String()
		cut := r.IntN(len(in) + 1)
		want := reference([]byte(in))
		if d := cmp.Diff(want, cook(in[:cut], in[cut:])); d != "" {
			t.Fatalf("seed %d, cut at %d, %q:\n%s", seed, cut, in, d)
		}
	}
}
