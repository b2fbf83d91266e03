package tui

import (
	"fmt"
	"strings"
	"testing"
)

// The option that Enter would choose is visible in every size.
func TestSelectedOptionIsVisible(t *testing.T) {
	which := Choice{Title: "Which?", Detail: []string{"one", "two", "three"}}
	for i := range 30 {
		which.Options = append(which.Options, Option{Text: fmt.Sprint("option ", i)})
	}
	c := newChoice(which)
	for rows := 5; rows < 30; rows++ {
		for c.at = range c.Options {
			lines := c.live(20, rows)
			if len(lines) > rows-3 {
				t.Fatalf("%d lines in %d rows", len(lines), rows)
			}
			found := false
			for _, l := range lines {
				found = found || strings.Contains(l.String(), fmt.Sprint("› option ", c.at))
				if l.Width() > 20 {
					t.Fatalf("%q is too wide", l)
				}
			}
			if !found {
				t.Fatalf("option %d is not among %v", c.at, lines)
			}
		}
	}
	c.filter, c.at = "tion 29", 0
	if n := len(c.matching()); n != 1 {
		t.Errorf("%d options match", n)
	}
}
