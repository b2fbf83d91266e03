package clean

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Every provider accepts every name, and no two tools have the same.
func TestNames(t *testing.T) {
	if got := Name("github", "create_issue"); got != "github__create_issue" {
		t.Error(got)
	}
	part := rapid.StringMatching(`[a_.🔧-]{0,5}|x{60,70}`)
	rapid.Check(t, func(t *rapid.T) {
		a := [2]string{part.Draw(t, "alias") + "s", part.Draw(t, "tool")}
		b := [2]string{part.Draw(t, "alias2") + "s", part.Draw(t, "tool2")}
		x, y := Name(a[0], a[1]), Name(b[0], b[1])
		if len(x) > MaxName || !isLetter(x[0]) || strings.Map(safeRune, x) != x {
			t.Fatalf("%q has the name %q", a, x)
		}
		if (x == y) != (a == b) {
			t.Fatalf("%q and %q have the names %q and %q", a, b, x, y)
		}
	})
}
