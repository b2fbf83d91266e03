package toml

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	t.Parallel()
	all, lines, err := Read([]byte("a = 1\nb = \"\"\"\ntext\"\"\"\n\"c d\" = ['x', 2.5, {y = true}]\nx.b = \"not a line of b\"\n\n" +
		"[t.u]\nv = 'w'\n[[l]]\nn = 1\n[l.in]\nz = 1979-05-27\n[[l]]\nn = 2\n"))
	want := Table{
		"a": 1.0, "b": "text", "c d": []any{"x", 2.5, Table{"y": true}}, "x": Table{"b": "not a line of b"}, "t": Table{"u": Table{"v": "w"}},
		"l": []any{Table{"n": 1.0, "in": Table{"z": "1979-05-27"}}, Table{"n": 2.0}},
	}
	if diff := cmp.Diff(want, all); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 3, "c d": 4}, lines); diff != "" {
		t.Error(diff)
	}
	for text, line := range map[string]int{"a = 1\na = 2": 2, "a = ": 1, "\n\n= 3": 3, "a = \"x": 1, "[t]\nb = 1\nb = 2": 3} {
		_, _, err := Read([]byte(text))
		var bad *Error
		if !errors.As(err, &bad) || bad.Line != line {
			t.Errorf("%q: %v", text, err)
		}
	}
}
