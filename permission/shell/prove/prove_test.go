package prove

import (
	"strings"
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

// What is read, by flags, operands and attributes.
func TestTouches(t *testing.T) {
	for line, want := range map[string]string{
		"cat a b":           "/w/a /w/b",
		"cat":               "",
		"grep -f p x a":     "/w/p /w/x /w/a",
		"grep x a":          "/w/a",
		"grep -r x":         "/w/.+",
		"ls":                "/w/.",
		"ls -R a":           "/w/a+",
		"find a b -newer c": "/w/c /w/a+ /w/b+",
		"find -name x":      "/w/.+",
		"tar tzf a.tgz x":   "/w/a.tgz /w/x",
		"jq .a b":           "/w/b",
		"sed -n 1p a":       "/w/a",
		"sed -e 1p a":       "/w/a",
		"test -f a":         "/w/a",
		"echo a":            "",
		"nm":                "/w/a.out",
		"cat < a":           "/w/a",
		"git show HEAD:a":   "/w/HEAD:a /w/a /w/.",
	} {
		p := proveLine(t, line, false)
		var got []string
		for _, touch := range p.Touches {
			if touch.Below {
				touch.Path += "+"
			}
			got = append(got, touch.Path)
		}
		if strings.Join(got, " ") != want || p.Why != "" {
			t.Errorf("%s: %q, want %q (%s)", line, got, want, p.Why)
		}
	}
}
