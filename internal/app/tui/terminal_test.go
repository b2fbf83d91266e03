package tui

import "testing"

// An answer that came late was taken for the answer to the next request, so a size was taken for a position.
func TestLateReport(t *testing.T) {
	term := &terminal{reports: make(chan [2]int, 2)}
	if _, _, ok := term.report(); ok {
		t.Fatal("an answer without one")
	}
	term.reports <- [2]int{80, 24} // to the first request
	term.reports <- [2]int{3, 5}
	if c, r, ok := term.report(); !ok || c != 3 || r != 5 {
		t.Errorf("the answer is %d, %d, %v", c, r, ok)
	}
}
