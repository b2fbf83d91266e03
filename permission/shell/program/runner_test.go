package program

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission/shell/bash"
)

func joined(words []bash.Word) string {
	var texts []string
	for _, w := range words {
		texts = append(texts, w.Text)
	}
	return strings.Join(texts, " ")
}

func TestSkipOptions(t *testing.T) {
	for _, tt := range []struct {
		line, rest string
		unsure     bool
	}{
		{"timeout -s KILL 5 ls", "5 ls", false},
		{"timeout -sKILL --kill-after 3 5 ls", "5 ls", false},
		{"timeout --foreground 5 ls", "5 ls", false},
		{"timeout --new 5 ls", "5 ls", true},
		{"env - -u A ls", "ls", false},
		{"nice -z ls", "ls", true},
		{"nice -- ls", "ls", false},
	} {
		c := &bash.Command{Words: testWords(tt.line)}
		if rest, unsure := SkipOptions(c, RunnerOf(c.Base())); joined(rest) != tt.rest || unsure != tt.unsure {
			t.Errorf("%s: %s, unsure %v", tt.line, joined(rest), unsure)
		}
	}
}

func TestOptionValues(t *testing.T) {
	for line, want := range map[string]string{
		"x -c a -xc b --command=d --command e -cf": "a b d e f", "x -c": "", "x a": "",
	} {
		if got := joined(OptionValues(testWords(line), []string{"-c", "--command"})); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestReplaced(t *testing.T) {
	for line, want := range map[string]string{
		"xargs -I {} rm {}": "{}", "xargs -I% rm %": "%", "xargs -i rm": "{}", "xargs --replace=X rm X": "X", "xargs rm": "{}",
	} {
		if got := Replaced(&bash.Command{Words: testWords(line)}); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// What interpreters read, and what commands do with their words.
func TestRunsOf(t *testing.T) {
	for _, tt := range []struct {
		line                           string
		interprets, own, data, program bool
	}{
		{"python3.11", true, false, false, true}, {"python3 -", true, false, false, true}, {"python3 x.py", true, false, false, false}, {"python3 -V", true, false, false, false},
		{"perl -e 1", true, false, false, false}, {"docker exec c sh", false, true, false, false}, {"ls", false, false, true, false}, {"sudo ls", false, false, true, false},
		{"gdb x", true, false, false, false}, {"unheard-of", false, false, false, false}, {"7z x", false, false, false, false},
	} {
		c := &bash.Command{Words: testWords(tt.line)}
		r := RunsOf(c)
		if r.Interprets != tt.interprets || r.Own != tt.own || r.Data != tt.data || ReadsProgram(c) != tt.program {
			t.Errorf("%s: %v %v %v %v", tt.line, r.Interprets, r.Own, r.Data, ReadsProgram(c))
		}
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

func TestParseRunners(t *testing.T) {
	if _, err := parseRunners(runnersText, 1); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"", "x: nonsense\n", "x: wraps nonsense\n", "x: wraps\r\n", "x: wraps\nx: data\n"} {
		if _, err := parseRunners(text, 1); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
