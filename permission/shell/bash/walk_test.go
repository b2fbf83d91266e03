package bash

import (
	"strings"
	"testing"
)

// The directories that x may run in.
func TestDirs(t *testing.T) {
	for line, want := range map[string]string{
		"x":                              "/w",
		"cd a && x":                      "/w/a",
		"cd a; x":                        "/w/a /w",
		"cd a || x":                      "/w/a /w",
		"cd a && cd ../b && x":           "/w/b /w/a/../b",
		"cd a && cd .. && x":             "/w /w/a/..",
		"cd a/k/../evil && x":            "/w/a/evil /w/a/k/../evil",
		"cd a/k/.. && cd .. && x":        "/w /w/a/.. /w/a/k/../..",
		"cd a && cd ../... && x":         "/w/... /w/a/../...",
		"(cd a && y); x":                 "/w",
		"{ cd a && y; } && x":            "/w/a",
		"cd a | y; x":                    "/w",
		"cd a & x":                       "/w",
		"cd /a && x":                     "/a",
		"cd && x":                        "/h",
		"cd ~/b && x":                    "/h/b",
		"cd $X && x":                     "?",
		"cd - && x":                      "?",
		"pushd a; x":                     "?",
		"eval y; x":                      "?",
		"if cd a; then x; fi":            "/w/a /w",
		"for i in 1; do cd a; done; x":   "?",
		`for i in 1; do \cd a; done; x`:  "?",
		`for i in 1; do {cd,a}; done; x`: "?",
		"for i in 1; do [ a ]; done; x":  "/w",
		"time cd a && x":                 "/w/a",
		"! cd a && x":                    "/w/a /w",
		"f() { cd a; }; f; x":            "?",
		"cd a > /dev/null && x":          "/w/a",
		"$(cd a); x":                     "?",
		"echo $(cd a) && x":              "/w",
		"f() { x; }; cd a; f":            "?",
	} {
		script := mustRead(t, line)
		got := ""
		for _, c := range script.Commands {
			if c.Name() == "x" {
				got = strings.Join(c.Dirs, " ")
				if c.Dirs == nil {
					got = "?"
				}
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// Parts of a line that only a rule for all commands covers.
func TestNotes(t *testing.T) {
	for line, want := range map[string]string{
		"f() { ls; }": "defines a function", "select x in a; do ls; done": "has a select", "for ((i=0;i<2;i++)); do ls; done": "has a C-style for loop",
		"for PATH in a; do ls; done": "assigns the variable PATH", "export A=1": "declares variables", "(( x ))": "evaluates arithmetic, which may run commands", "ls {x}> a": "opens a file descriptor by name", "cat <<'a b'\nx\na b\n": "has an unusual end of a here-document",
		"diff <(ls) a": "substitutes a process", "case ${x@P} in a) ls;; esac": "depends on an unknown value", "ls; (cd a && ls) | cat": "",
	} {
		script := mustRead(t, line)
		var got []string
		for _, n := range script.Notes {
			got = append(got, n.What)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
