package shellwords

import (
	"slices"
	"testing"
)

// What was quoted is read as one word again, whatever it has.
func FuzzQuote(f *testing.F) {
	for _, text := range []string{"a", "a b", "", "it's", `\`, "~", "a=~b", "$x `y`", "a\nb", "#", "é"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Split(Quote(text), true)
		if !slices.Equal(got.Words, []string{text}) || got.Open != 0 || got.Special != 0 {
			t.Errorf("%q is quoted as %s, which reads as %+v", text, Quote(text), got)
		}
	})
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "a b": "'a b'", "": "''", "it's": `'it'\''s'`, "a/b.c": "a/b.c", "~": "'~'", "a~": "a~", "a=~": "'a=~'", "*": "'*'", "$x": "'$x'",
	} {
		if got := Quote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
