package tui

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"one\ntwo\n":                      {"one", "two"},
		"- a *b* `c`":                     {"- a *b* `c`"},
		"  /undo   takes a change back":   {"  /undo   takes a", "          change", "          back"},
		"    deep and also rather long":   {"    deep and also", "    rather long"},
		"a long title, column    far off": {"a long title, column", "far off"},
		"\x1b[2Jx":                        {"�[2Jx"},
	} {
		var got []string
		for _, l := range plain(text, 20) {
			got = append(got, l.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q\n%s", text, diff)
		}
	}
}
