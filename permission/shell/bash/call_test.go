package bash

import (
	"strings"
	"testing"
)

// What the shell opens for a command, and what a command is given to read.
func TestRedirects(t *testing.T) {
	for line, want := range map[string]string{
		"x > a": "write a", "x < a": "read a", "x >> a 2>&1": "write a", "x &> a": "write a", "x <> a": "write a", "x > /dev/null": "", "x >& a": "write a", "x 2>&-": "", "{ x; } > a": "write a", "x > $y": "write $y", "x > a{b,c}": "write a{b,c}",
		"x <<< 'a b'": "input a b", "x <<E\na\nE\n": "input a\n", "x <<E\n$y\nE\n": "input ?", "x <<'E'\n$y\nE\n": "input $y\n", "echo a b | x": "input ?", "echo -e a | x": "input ?", "ls | x": "input ?", "echo a | x < b": "read b", "{ y; x; } <<< a": "",
	} {
		script := mustRead(t, line)
		var got []string
		for _, c := range script.Commands {
			if c.Name() != "x" {
				continue
			}
			for _, d := range c.Redirs {
				switch {
				case d.File && d.Write:
					got = append(got, "write "+d.Target.Text)
				case d.File:
					got = append(got, "read "+d.Target.Text)
				}
			}
			if in := c.Input(); in != nil {
				text := in.Text
				if in.Kind != Literal {
					text = "?"
				}
				got = append(got, "input "+text)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// The words of [[ … ]].
func TestTestWords(t *testing.T) {
	for line, want := range map[string]string{
		"[[ -f a && ! ( b == c* ) ]]": "[[ -f a && ! b == c* ]]", "[[ $x = 'b c' ]]": "[[ $x = b c ]]", "[[ a -nt b || -n c ]]": "[[ a -nt b || -n c ]]",
	} {
		script := mustRead(t, line)
		if got := strings.Join(script.Commands[0].Argv(), " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
