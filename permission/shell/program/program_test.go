package program

import (
	"maps"
	"regexp"
	"slices"
	"testing"
)

func TestParsePrograms(t *testing.T) {
	for _, text := range []string{
		"", "# comment\n", "x: nonsense\n", "x: safe=1\n", "x: files", "x: files\r\n", "x: files\r", "x: files \n", "x: files  safe\n", "x:\n", "x\n", "x, : files\n", ": files\n",
		"x: files\nx: none\n", "x: files most=a\n", "x: files most\n", "x: files default\n", "\t-a\nx: files\n", "x: files\n\t-a\tb\n", "x: files\n\tb\n", "x: files\n\t~\n", "x: files\n\t-a\r\n",
		"x: files\x00\n", "x: files\u200b\n", "x: files\xff\n", "x: files\u2028\n", "\ufeffx: files\n",
	} {
		if _, err := parsePrograms(text, 1); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	if _, err := parsePrograms("x: files\n", 2); err == nil {
		t.Error("too few lines: no error")
	}
	ps, err := parsePrograms("# comment\nx, y z: files most=2 below=-r,-R\n\t-ab -n: --long?\n\t+ x a\ny: none enforced\n", 3)
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
	ps, err := parsePrograms(programsText, 1)
	if err != nil {
		t.Error(err)
	}
	for _, p := range slices.Concat(slices.Collect(maps.Values(ps.Plain)), slices.Collect(maps.Values(ps.Enforced))) {
		p.form.matches("")
		p.ban.matches("")
	}
}

func TestParseRunners(t *testing.T) {
	if _, err := parseRunners(runnersText, 1); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"", "x: nonsense\n", "x: wraps nonsense\n", "x: wraps\r\n", "x: wraps\n\t-a\n", "x: wraps\nx: data\n"} {
		if _, err := parseRunners(text, 1); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
