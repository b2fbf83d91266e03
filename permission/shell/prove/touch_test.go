package prove

import (
	"strings"
	"testing"
)

// What is read, by flags, operands and attributes.
func TestTouches(t *testing.T) {
	for line, want := range map[string]string{
		"cat a b":                        "/w/a /w/b",
		"cat":                            "",
		"grep -f p x a":                  "/w/p /w/x /w/a",
		"grep x a":                       "/w/a",
		"grep -r x":                      "/w/.+",
		"ls":                             "/w/.",
		"ls -R a":                        "/w/a+",
		"find a b -newer c":              "/w/c /w/a+ /w/b+",
		"find -name x":                   "/w/.+",
		"tar tzf a.tgz x":                "/w/a.tgz /w/x",
		"jq .a b":                        "/w/b",
		"sed -n 1p a":                    "/w/a",
		"sed -e 1p a":                    "/w/a",
		"test -f a":                      "/w/a",
		"echo a":                         "",
		"nm":                             "/w/a.out",
		"cat < a":                        "/w/a",
		"grep -r --include=*.go x a":     "/w/a+ /w/*.go /w/--include=*.go",
		"grep -r --include='\\.env' x a": "/w/a+ /w/.env",
		"rg -g '!x' p a/b":               "/w/a/b+ /w/a/b/.gitignore /w/a/b/.ignore /w/a/b/.rgignore /w/a/.gitignore /w/a/.ignore /w/a/.rgignore /w/./.gitignore /w/./.ignore /w/./.rgignore /w/./.gitignore /w/./.ignore /w/./.rgignore",
		"[ -f a -a -d b ]":               "/w/a /w/-d /w/b",
		"cat - /dev/null":                "",
	} {
		p := proveLine(t, line, false)
		var got []string
		for _, touch := range p.Touches {
			if touch.Scope.Deep() {
				touch.Path += "+"
			}
			got = append(got, touch.Path)
		}
		if strings.Join(got, " ") != want || p.Why != "" {
			t.Errorf("%s: %q, want %q (%s)", line, got, want, p.Why)
		}
	}
}
