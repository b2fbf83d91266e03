package bash

import (
	"slices"
	"testing"
)

// Words after quote removal, with their kinds.
func TestWords(t *testing.T) {
	lit := func(texts ...string) (words []Word) {
		for _, s := range texts {
			words = append(words, Word{s, Literal})
		}
		return words
	}
	for line, want := range map[string][]Word{
		`a 'b c' "d"e\ f`:     lit("a", "b c", "de f"),
		`a {b,c}d`:            {{"a", Literal}, {"{b,c}d", Unknown}},
		`a {} {b}`:            lit("a", "{}", "{b}"),
		`a ~/x $HOME "$HOME"`: lit("a", "/h/x", "/h", "/h"),
		`a $'b\n'`:            lit("a", "b\n"),
		`a *.go`:              {{"a", Literal}, {"*.go", Glob}},
		`a $x`:                {{"a", Literal}, {"$x", Unknown}},
		`a "$USER"`:           {{"a", Literal}, {`"$USER"`, Unknown}},
		`a $(b)`:              {{"a", Literal}, {"$(b)", Unknown}},
	} {
		script := mustRead(t, line)
		if got := script.Commands[len(script.Commands)-1].Words; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestUnescaped(t *testing.T) {
	for pattern, want := range map[string]string{`a\*b`: "a*b", `a`: "a", `\\`: `\`, "a\\\nb": "a\nb", `a\`: `a\`} {
		if got := Unescaped(pattern); got != want {
			t.Errorf("%q: %q, want %q", pattern, got, want)
		}
	}
}
