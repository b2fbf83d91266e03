package bash

import (
	"slices"
	"testing"
)

// Words after quote removal, with their kinds.
func TestRead(t *testing.T) {
	lit := func(texts ...string) (words []Word) {
		for _, s := range texts {
			words = append(words, Word{s, Literal})
		}
		return words
	}
	for line, want := range map[string][]Word{
		`a 'b c' "d"e\ f`:     lit("a", "b c", "de f"),
		`a {b,c}d`:            lit("a", "bd", "cd"),
		`a ~/x $HOME "$HOME"`: lit("a", "/home/me/x", "/home/me", "/home/me"),
		`a $'b\n'`:            lit("a", "b\n"),
		`a *.go`:              {{"a", Literal}, {"*.go", Glob}},
		`a $x`:                {{"a", Literal}, {"$x", Unknown}},
		`a "$USER"`:           {{"a", Literal}, {`"$USER"`, Printable}},
		`a $(b)`:              {{"a", Literal}, {"$(b)", Unknown}},
	} {
		script, err := Read(line, Options{Dir: "/w", Home: "/home/me"}, nil)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := script.Commands[len(script.Commands)-1].Words; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// Variables whose values are all in the line, and whether it is sure that they have one of them.
func TestFilled(t *testing.T) {
	for _, tt := range []struct {
		line  string
		cases int
		sure  bool
	}{
		{"for f in a b; do x $f; done", 2, true}, {"f=a; x $f", 1, true}, {"f=a && x $f", 1, false}, {"true && f=a; x $f", 1, false}, {"f=a; f=b; x $f", 2, true}, {"x $f", 0, false},
		{"read f; x $f", 0, false}, {"for f in a b; do for g in c d; do x $f $g; done; done", 4, true}, {"eval f=a; x $f", 0, false}, {"IFS=a; f=b; x $f", 1, false}, {"(f=a); x $f", 1, false}, {"f=a | true; x $f", 1, false},
	} {
		script, err := Read(tt.line, Options{Dir: "/w"}, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
			continue
		}
		cases, sure := 0, false
		for _, c := range script.Commands {
			if c.IsCase {
				cases++
			}
			sure = sure || c.Filled()
		}
		if cases != tt.cases || sure != tt.sure {
			t.Errorf("%s: %d cases, sure is %v", tt.line, cases, sure)
		}
	}
}
