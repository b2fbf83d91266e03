package prove

import (
	"testing"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/program"
)

// Every line of programs.txt is read, and its examples are what it says.
func TestPrograms(t *testing.T) {
	ps := program.ReadOnly()
	for _, known := range []map[string]*program.Program{ps.Plain, ps.Enforced} {
		for name, p := range known {
			for _, line := range p.SafeExamples {
				if why := proveLine(t, line, p.Enforced).Why; why != "" {
					t.Errorf("%s: %s: %s", name, line, why)
				}
			}
			for _, line := range p.UnsafeExamples {
				if proveLine(t, line, p.Enforced).Why == "" {
					t.Errorf("%s: %s: read-only", name, line)
				}
			}
		}
	}
}

func proveLine(t *testing.T, line string, held bool) Proof {
	t.Helper()
	script, err := bash.Read(line, bash.Options{Dir: "/w", Home: "/home/me"}, nil)
	if err != nil || len(script.Commands) == 0 {
		t.Fatalf("%s: %v", line, err)
	}
	return prove(script.Commands[0], held)
}

// What around the words of a command keeps it from being read-only, by its text and where a sandbox enforces reads.
func TestSurroundings(t *testing.T) {
	for _, tt := range []struct {
		line       string
		text, held bool // proved
	}{
		{"LC_ALL=C sort a", true, true}, {"LC_ALL=ja_JP.SJIS sort a", false, false}, {"TZ=UTC date", true, true}, {"TZ=/x date", false, false},
		{"PAGER=cat git log", true, true}, {"PAGER=less git log", false, false}, {"GOOS=linux go list", false, true}, {"PATH=. ls", false, false},
		{"x=1", true, true}, {"x=$y", false, true}, {"WEIRD_1=1", false, true}, {"BASH_ENV=1", false, false}, {"HOME=1", false, false},
		{"timeout 5 ls", true, true}, {"timeout $n ls", false, false}, {"nice -n 5 ls", true, true}, {"command -v ls", true, true},
		{"'NAME=VALUE' TZ=UTC", false, false}, {"NAME X", false, false},
		{"cat < a", true, true}, {"cat > a", false, false}, {"cat {x}< a", false, false}, {"cat < $x", false, true},
	} {
		if got := proveLine(t, tt.line, false).Why == ""; got != tt.text {
			t.Errorf("%s, by its text: %v, want %v", tt.line, got, tt.text)
		}
		if got := proveLine(t, tt.line, true).Why == ""; got != tt.held {
			t.Errorf("%s, where reads are enforced: %v, want %v", tt.line, got, tt.held)
		}
	}
}
