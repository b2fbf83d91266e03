package program

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission/shell/bash"
)

// How words are sorted into flags and operands. A word with $ is unknown, one with a star a glob.
func TestParseArgs(t *testing.T) {
	const table = `x: files
	-ab -n: -# --long: --color? --pair+ --read@ --format=raw --format:
	!~ ^--format=mine
stops: text stops
	-a
expr: names exact expression
	-name: -exec; !
two: text most=2
	~ [a-z ]*
script: script
	-e:
	!~ system
`
	ps, err := parsePrograms(table, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ line, flags, operands, why string }{
		{"x -ab c -n 5 d", "-a -b -n=5", "c d", ""},
		{"x -an5 -20", "-a -n=5 -#=-20", "", ""},
		{"x --long=a --long b --color --color=c", "--long=a --long=b --color --color=c", "", ""},
		{"x --pair a b c", "--pair=b", "c", ""},
		{"x -- -a", "", "-a", ""},
		{"x -z", "", "", "not on the read-only list"},
		{"x -n", "", "", "has no value"},
		{"x -n $y", "", "", "expands at run time"},
		{"x $y", "", "", "expands at run time"},
		{"x *", "", "", "may expand to a flag"},
		{"x a*", "", "a*", ""},
		{"x --format=raw --format=%h", "--format=raw --format=%h", "", ""},
		{"x --format=mine", "", "", "not on the read-only list"},
		{"stops -a b -c", "-a", "b -c", ""},
		{"expr . ! -name y", "! -name=y", ".", ""},
		{"expr . -name y z", "", "", "after the first test"},
		{"expr . -exec ls ;", "", "", "not on the read-only list"},
		{"two a b c", "", "", "more arguments"},
		{"two 1", "", "", "these arguments"},
		{"script {print} a", "", "{print} a", ""},
		{"script {system}", "", "", "not on the read-only list"},
		{"script", "", "", "can't be checked"},
	} {
		words := testWords(tt.line)
		a, why := ParseArgs(&bash.Command{Words: words}, words[0].Text, words[1:], ps.Plain[words[0].Text], false)
		if (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("%s: %q, want %q", tt.line, why, tt.why)
		}
		var flags, operands []string
		for _, f := range a.Flags {
			if f.Value.Text != "" {
				f.Name += "=" + f.Value.Text
			}
			flags = append(flags, f.Name)
		}
		for _, w := range a.Operands {
			operands = append(operands, w.Text)
		}
		if why == "" && (strings.Join(flags, " ") != tt.flags || strings.Join(operands, " ") != tt.operands) {
			t.Errorf("%s: flags %q, operands %q", tt.line, flags, operands)
		}
	}
	words := testWords("expr $x -exec ls {} + -name $y")
	if a, why := ParseArgs(&bash.Command{Words: words}, "expr", words[1:], ps.Plain["expr"], true); why != "" || !a.Has("-exec") || !a.Has("-name") {
		t.Errorf("where reads are enforced: %v, %s", a.Flags, why)
	}
}

func testWords(line string) (words []bash.Word) {
	for _, s := range strings.Fields(line) {
		w := bash.Word{Text: s}
		if strings.Contains(s, "$") {
			w.Kind = bash.Unknown
		} else if strings.Contains(s, "*") {
			w.Kind = bash.Glob
		}
		words = append(words, w)
	}
	return words
}

func TestHeldVar(t *testing.T) {
	for name, want := range map[string]bool{
		"x": true, "COUNT": true, "FILE_1": true, "PATH": false, "HOME": false, "BASH_ENV": false, "GIT_DIR": false, "Count": false, "": false, "_": false, "NO_COLOR": false,
	} {
		if got := HeldVar(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
