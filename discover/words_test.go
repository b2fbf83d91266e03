package discover

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWords(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
		err  string
	}{
		{line: "", want: nil},
		{line: "  a  b\tc\n", want: []string{"a", "b", "c"}},
		{line: `'a b' "c d" e\ f`, want: []string{"a b", "c d", "e f"}},
		{line: `a'b'"c"d`, want: []string{"abcd"}},
		{line: `'' ""`, want: []string{"", ""}},
		{line: `"a\"b\\c\d$HOME"`, want: []string{`a"b\c\d$HOME`}},
		{line: `'a\'`, want: []string{`a\`}},
		{line: "a\\\nb", want: []string{"ab"}},
		{line: `--x=$HOME *`, want: []string{"--x=$HOME", "*"}},
		{line: `'a`, err: "unclosed quote"},
		{line: `a\`, err: "trailing backslash"},
		{line: `a | b`, err: `"|" requires a shell`},
		{line: `a; b`, err: `";" requires a shell`},
	} {
		got, err := Words(c.line)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("Words(%q): error %v, want %q", c.line, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("Words(%q): %v\n%s", c.line, err, diff)
		}
	}
}

// What is quoted the shell's way comes back as it was, and bash agrees.
func TestWordsAsBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	if testing.Short() {
		t.Skip("starts many shells")
	}
	piece := rapid.SampledFrom([]string{"a", "b c", "'x'", `"y"`, `"a\"b"`, `\ `, `\"`, ` `, "''", `""`, "é", `'\'`, `"\\"`})
	rapid.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
		got, err := Words(line)
		if err != nil {
			return
		}
		out, err := exec.Command(bash, "-c", `eval "set -- $1"; for w; do printf '<%s>' "$w"; done`, "-", line).Output()
		if err != nil {
			t.Fatalf("bash on %q: %v", line, err)
		}
		want := ""
		for _, w := range got {
			want += "<" + w + ">"
		}
		if string(out) != want {
			t.Fatalf("%q: bash says %s, Words %s", line, out, want)
		}
	})
}
