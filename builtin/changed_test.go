package builtin

import (
	"fmt"
	"strings"
	"testing"
)

// A long change is cut to 40 lines, and one with long lines to some thousand characters.
func TestShownChange(t *testing.T) {
	var was, now strings.Builder
	for i := range 100 {
		fmt.Fprintf(&was, "line %d\n", i)
		fmt.Fprintf(&now, "changed %d\n", i)
	}
	for name, c := range map[string][2]string{
		"many lines": {was.String(), now.String()},
		"long lines": {"a\n", strings.Repeat(strings.Repeat("x", 900)+"\n", 30)},
		"one line":   {"a", strings.Repeat("ü", 100_000)},
	} {
		text := shownChange(c[0], c[1])
		if n := strings.Count(text, "\n"); n > maxChangeLines+1 || len(text) > maxChangeBytes+300 {
			t.Errorf("%s: %d lines, %d bytes", name, n, len(text))
		}
		if !strings.HasPrefix(text, "@@ -1") || !strings.Contains(text, "\nThe rest of the change is not shown.") {
			t.Errorf("%s: %.100q … %q", name, text, text[len(text)-150:])
		}
	}
	if text := shownChange("a\n@@\n", "b\n@@\n"); !strings.HasPrefix(text, "@@ -1,2 +1,2 @@\n-a\n+b\n @@\nRetry with") {
		t.Errorf("%q", text)
	}
}
