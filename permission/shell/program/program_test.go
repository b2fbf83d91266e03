package program

import (
	"maps"
	"regexp"
	"slices"
	"testing"
)

func TestParsePrograms(t *testing.T) {
	for _, text := range []string{"x: nonsense", "x: safe=1"} {
		if _, err := parsePrograms(text); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
	ps, err := parsePrograms("# comment\nx, y z: files most=2 below=-r,-R\n\t-ab -n: --long?\n\t+ x a\ny: none enforced\n")
	if err != nil {
		t.Fatal(err)
	}
	p := ps.Find("y z", false)
	if p == nil || p != ps.Find("x", true) || p.Most != 2 || !slices.Equal(p.Below, []string{"-r", "-R"}) || p.Flags["-b"] != bare || p.Flags["-n"] != valued || p.Flags["--long"] != optional {
		t.Errorf("y z is %+v", p)
	}
	if ps.Find("y", false) != nil || ps.Find("y", true) == nil || !slices.Equal(p.SafeExamples, []string{"x a"}) {
		t.Errorf("%+v", ps)
	}
}

// Scripts of sed that only print, and some that don't.
func TestSedScript(t *testing.T) {
	sed := regexp.MustCompile(sedScript())
	for script, want := range map[string]bool{
		"p": true, "1,5p": true, "$d": true, "/a/,/b/p": true, "s/a/b/g": true, "s|a|b|;p": true, "/x/{p;q}": true, "1~2d": true, "/[a-z]/!d": true, "s/[[:alpha:]]//": true, "y/ab/cd/": false, "q5": true, "": true,
		"w x": false, "s/a/b/w x": false, "s/a/b/e": false, "r .env": false, "e ls": false, "1!G;h;$!d;w x": false, "s/[^]/a/;s|]/b/w x||": false, "s/a\\\n/w x/": false, "s/[/]/w/": false, "a\\": false, "R x": false, "/a/w x": false,
	} {
		if got := sed.MatchString(script); got != want {
			t.Errorf("%q: %v, want %v", script, got, want)
		}
	}
}

// Forms are compiled when they are needed, so this compiles all of them.
func TestForms(t *testing.T) {
	ps, err := parsePrograms(programsText)
	if err != nil {
		t.Error(err)
	}
	for _, p := range slices.Concat(slices.Collect(maps.Values(ps.Plain)), slices.Collect(maps.Values(ps.Enforced))) {
		p.form.matches("")
		p.ban.matches("")
	}
}

func TestParseRunners(t *testing.T) {
	if _, err := parseRunners(runnersText); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"x: nonsense", "x: wraps nonsense"} {
		if _, err := parseRunners(text); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
