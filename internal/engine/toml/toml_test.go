package toml

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	t.Parallel()
	all, err := Read([]byte("a = 1\nb = \"\"\"\ntext\"\"\"\n\"c d\" = ['x', 2.5, {y = true}]\nx.b = \"not a line of b\"\n\n" +
		"[t.u]\nv = 'w'\n[[l]]\nn = 1\n[l.in]\nz = 'date'\n[[l]]\nn = 2\n"))
	want := Table{
		"a": int64(1), "b": "text", "c d": []any{"x", 2.5, Table{"y": true}}, "x": Table{"b": "not a line of b"}, "t": Table{"u": Table{"v": "w"}},
		"l": []any{Table{"n": int64(1), "in": Table{"z": "date"}}, Table{"n": int64(2)}},
	}
	if diff := cmp.Diff(want, all); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for text, line := range map[string]int{"a = 1\na = 2": 2, "a = ": 1, "\n\n= 3": 3, "a = \"x": 1, "[t]\nb = 1\nb = 2": 3, "[t]\nb = 1\n[t]": 3} {
		_, err := Read([]byte(text))
		var bad *Error
		if !errors.As(err, &bad) || bad.Line != line {
			t.Errorf("%q: %v", text, err)
		}
	}
}
