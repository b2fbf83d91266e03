package approval_test

import (
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/app/approval"
	"github.com/adze-dev/adze/tool"
)

func diffOf(old, now string) tool.FileDiff {
	return tool.FileDiff{Diff: udiff.Unified("a", "b", old, now), Original: &old, New: now}
}

func TestHunks(t *testing.T) {
	old := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	d := diffOf(old, "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve\n")
	hunks := approval.Hunks(d)
	if len(hunks) != 2 {
		t.Fatalf("%d hunks", len(hunks))
	}
	for _, c := range []struct {
		take []bool
		want string
	}{
		{[]bool{true, true}, d.New},
		{[]bool{false, false}, old},
		{[]bool{true, false}, strings.Replace(old, "1\n", "one\n", 1)},
		{[]bool{false, true}, strings.Replace(old, "12\n", "twelve\n", 1)},
	} {
		if got, ok := approval.Take(d, hunks, c.take); !ok || got != c.want {
			t.Errorf("%v: %q, %v", c.take, got, ok)
		}
	}
}

// All hunks of any change give the new text, and none the old one.
func TestAllHunksAreTheChange(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "dd\n"}), 0, 40).Draw(t, "lines"), "")
		if rapid.Bool().Draw(t, "newline") {
			s = strings.TrimSuffix(s, "\n")
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		d := diffOf(text.Draw(t, "old"), text.Draw(t, "new"))
		hunks := approval.Hunks(d)
		if hunks == nil {
			if d.New != *d.Original && *d.Original != "" {
				t.Logf("not divided: %q", d.Diff)
				t.Fatal("no hunks")
			}
			return
		}
		none, ok := approval.Take(d, hunks, make([]bool, len(hunks)))
		if !ok || none != *d.Original {
			t.Fatalf("%q instead of %q", none, *d.Original)
		}
	})
}
