package bash

import (
	"strings"
	"testing"
)

// The values of variables that a line sets. Where a variable may have another value, its word stays unknown.
func TestVariables(t *testing.T) {
	for line, want := range map[string]string{
		"for f in a b; do x $f; done":                          "x a; x b",
		"for f in a b; do for g in c d; do x $f$g; done; done": "x ac; x ad; x bc; x bd",
		"for f in a; do x $f; f=b; done":                       "x a",
		"for f in a; do while c; do x $f; f=b; done; done":     "c; x $f",
		"for f in $(c) a; do x $f; done":                       "c; x $f",
		"for f; do x $f; done":                                 "x $f",
		"for f in *.go; do x \"$f\"; x $f; done":               "x *.go; x $f",
		"f=a; x $f \"$f\" '$f' ${f}b ${f:-c}":                  "x a a '$f' ab ${f:-c}",
		"f=a && x $f":                                          "x a",
		"f=a || x $f":                                          "x $f",
		"f=a | true; x $f":                                     "true; x $f",
		"true && f=a; x $f":                                    "true; x $f",
		"f=b; true || f=a && x $f":                             "true; x $f",
		"f=a; f=b; x $f":                                       "x b",
		"f=a; (f=b); x $f":                                     "x $f",
		"f=a; g=$(f=b); x $f":                                  "x $f",
		"f=a; f=b g=$f; x $g":                                  "x $g",
		"f=a; f=b x $f":                                        "f=b x a",
		"f=a & x $f":                                           "x $f",
		"if c; then f=a; x $f; fi; x $f":                       "c; x a; x $f",
		"f=a; read f; x $f":                                    "read f; x $f",
		"f=a; read 'b[f=1]'; x $f":                             "read 'b[f=1]'; x $f",
		"f=a; eval f=b; x $f":                                  "eval f=b; x $f",
		"f=a; (( f = 1 )); x $f":                               "'(('; x $f",
		"f=a; echo ${f:=b} $((f=1)); x $f":                     "echo ${f:=b} $((f=1)); x $f",
		"f() { f=b; }; f=a; f; x $f":                           "f; x $f",
		"IFS=a; f=bab; x $f":                                   "x $f",
		"f='a b'; x $f \"$f\"":                                 "x $f 'a b'",
		"PATH=a; x $PATH":                                      "x $PATH",
		"c=ls; $c $c":                                          "$c ls",
		"x $PWD; cd a; x $PWD":                                 "x /w; cd a; x $PWD",
	} {
		script := mustRead(t, line)
		var got []string
		for _, c := range script.Commands {
			if len(c.Words) > 0 {
				got = append(got, c.String())
			}
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %s, want %s", line, strings.Join(got, "; "), want)
		}
	}
}

func TestIsScratchVar(t *testing.T) {
	for name, want := range map[string]bool{
		"x": true, "file_1": true, "FILE": true, "PATH": false, "http_proxy": false, "npm_config_x": false, "_": false, "": false, "IFS": false, "LD_PRELOAD": false,
	} {
		if got := IsScratchVar(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
