package search

import (
	"math/rand"
	"testing"
)

// TestPairFindsNoOther holds that only true pairs stop the scan: a wrong one costs time and would go unnoticed otherwise.
func TestPairFindsNoOther(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	data := make([]byte, 300)
	for range 2000 {
		for i := range data {
			data[i] = "aAbBrRe_\x80\xff"[r.Intn(10)]
		}
		a, b, gap, fold := "abr_e"[r.Intn(5)], "abr_e"[r.Intn(5)], r.Intn(9), r.Intn(2) == 0
		p := newPair(a, b, gap, fold)
		is := func(x, y byte) bool { return x == y || fold && lower[x] == y }
		want := -1
		from := r.Intn(20)
		for i := from; i+gap < len(data); i++ {
			if is(data[i], a) && is(data[i+gap], b) {
				want = i
				break
			}
		}
		if got := p.find(data, from); got != want {
			t.Fatalf("%c %c gap %d fold %v in %q from %d: got %d, want %d", a, b, gap, fold, data, from, got, want)
		}
	}
}
