package shell

import (
	"slices"
	"strings"
	"testing"
)

// Every line of programs.txt is read, and its examples are what it says.
func TestPrograms(t *testing.T) {
	ps, err := parsePrograms(programsText)
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range []map[string]*program{ps.plain, ps.enforced} {
		for name, p := range known {
			for _, line := range p.safeExamples {
				if why := proveLine(t, line, p.enforced).Why; why != "" {
					t.Errorf("%s: %s: %s", name, line, why)
				}
			}
			for _, line := range p.unsafeExamples {
				if proveLine(t, line, p.enforced).Why == "" {
					t.Errorf("%s: %s: read-only", name, line)
				}
			}
		}
	}
}

func proveLine(t *testing.T, line string, held bool) Proof {
	t.Helper()
	script, err := Read(line, Options{Dir: "/w", Home: "/home/me"})
	if err != nil || len(script.Commands) == 0 {
		t.Fatalf("%s: %v", line, err)
	}
	return script.Commands[0].prove(held)
}

func TestParsePrograms(t *testing.T) {
	for _, text := range []string{"x: nonsense", "x: files check=nonsense", "x: safe=1"} {
		if _, err := parsePrograms(text); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
	ps, err := parsePrograms("# comment\nx, y z: files most=2 below=-r,-R\n\t-ab -n: --long?\n\t+ x a\ny: none enforced\n")
	if err != nil {
		t.Fatal(err)
	}
	p := ps.find("y z", false)
	if p == nil || p != ps.find("x", true) || p.most != 2 || !slices.Equal(p.below, []string{"-r", "-R"}) || p.flags["-b"] != bare || p.flags["-n"] != valued || p.flags["--long"] != optional {
		t.Errorf("y z is %+v", p)
	}
	if ps.find("y", false) != nil || ps.find("y", true) == nil || !ps.subcommands["y"] || !slices.Equal(p.safeExamples, []string{"x a"}) {
		t.Errorf("%+v", ps)
	}
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
		"tar tzf a.tgz x":   "/w/a.tgz",
		"tar -t -f a.tar":   "/w/a.tar",
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

// Scripts of sed that only print, and some that don't.
func TestSedScript(t *testing.T) {
	for script, want := range map[string]bool{
		"p": true, "1,5p": true, "$d": true, "/a/,/b/p": true, "s/a/b/g": true, "s|a|b|;p": true, "/x/{p;q}": true, "1~2d": true, "/[a-z]/!d": true, "s/[[:alpha:]]//": true, "y/ab/cd/": true, "q5": true, "": true,
		"w x": false, "s/a/b/w x": false, "s/a/b/e": false, "r .env": false, "e ls": false, "1!G;h;$!d;w x": false, "s/[^]/a/;s|]/b/w x||": false, "s/a\\\n/w x/": false, "s/[/]/w/": false, "a\\": false, "R x": false, "/a/w x": false,
	} {
		if got := sedScript.MatchString(script); got != want {
			t.Errorf("%q: %v, want %v", script, got, want)
		}
	}
}
