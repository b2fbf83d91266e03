package bash

import "testing"

func TestNames(t *testing.T) {
	for line, want := range map[string][2]string{
		"ls": {"ls", "ls"}, "/bin/ls": {"ls", "ls"}, "/opt/x/ls": {"/opt/x/ls", "ls"}, "./ls": {"./ls", "ls"}, "/usr/local/bin/ls": {"ls", "ls"}, "/usr/bin/x/ls": {"/usr/bin/x/ls", "ls"},
	} {
		c := &Command{Words: []Word{{line, Literal}}}
		if got := [2]string{SystemName(c.Name()), c.Base()}; got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestCommandString(t *testing.T) {
	c := &Command{Prefix: []Assign{{Name: "A", Value: Word{"b c", Literal}}}, Words: []Word{{"x", Literal}, {"it's", Literal}, {"$y", Unknown}, {"*.go", Glob}}}
	if got, want := c.String(), `A='b c' x 'it'\''s' $y *.go`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Join(c.Words); got != (Word{"$y", Unknown}) {
		t.Errorf("joined: %v", got)
	}
	if got := Join(c.Words[:2]); got != (Word{"x it's", Literal}) {
		t.Errorf("joined: %v", got)
	}
	if inner := c.Inner(c.Words[1:]); inner.By != c || inner.Name() != "it's" {
		t.Errorf("inner: %v", inner)
	}
}

func TestUndetermined(t *testing.T) {
	unknown := []Word{{"$x", Unknown}}
	for _, tt := range []struct {
		c    Command
		want bool
	}{
		{Command{Words: unknown}, true}, {Command{Words: unknown, MayRun: true}, false}, {Command{Words: unknown, Doubtful: true}, false}, {Command{Words: []Word{{"x", Literal}}}, false}, {Command{}, false},
	} {
		if got := tt.c.Undetermined(); got != tt.want {
			t.Errorf("%+v: %v", tt.c, got)
		}
	}
}
