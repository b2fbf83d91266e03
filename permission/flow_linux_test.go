package permission_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// flowGen makes up lines in which it matters what ran before: which variable is set, and to what, and where the shell
// stands. What an else or a || leaves unset, a path without its first half, was judged as if it were set once.
type flowGen struct{ *rand.Rand }

func (w flowGen) one(of ...string) string { return of[w.IntN(len(of))] }

// step is a command that sets something, moves, or tells.
func (w flowGen) step() string {
	d := w.one("d", "e")
	switch w.IntN(10) {
	case 0, 1, 2:
		return d + "=" + w.one(".", ".", ".", ".", "src", "src/", "''", "..", "$(true)", "$(echo .)", "x") + w.one("", "", "", " < missing")
	case 3:
		return "read " + w.one("", "-r ") + d + w.one("", " < list", " < missing", " <<< .", " < /dev/null")
	case 4:
		return "cd " + w.one("src", "docs", ".", "nope", "src/deep", "$d", "..", `"$e"`) + w.one("", " < missing")
	case 5, 6:
		return w.one("true", "false", ":", "[ -f nope ]", "[[ a == a ]]", `[ -n "$d" ]`, `[ "$e" = . ]`, "break", "continue", "false", "set -u", "exit")
	}
	if w.IntN(2) == 0 { // outside where the variable is not set
		return w.one("cat", "cat <", "grep a") + " $" + d + "/home/me/notes.txt"
	}
	return w.one("cat", "head -1", "cat <", "grep a", "ls", "wc -l <", "echo") + " " + w.one("$d", "$e", `"$d"`, "${d}", `"$e"`, "..", ".", "../..", "$PWD", "$d$e") +
		w.one("/home/me/notes.txt", "/notes.txt", "/../notes.txt", "/.env", "env", "/*", "/me/notes.txt", "./notes.txt", "")
}

func (w flowGen) line(depth int) string {
	if depth == 0 || w.IntN(3) == 0 {
		return w.step()
	}
	a, b, c := w.line(depth-1), w.line(depth-1), w.line(depth-1)
	form := w.one("%[1]s; %[2]s", "%[1]s; %[2]s; %[3]s", "%[1]s && %[2]s", "%[1]s || %[2]s", "%[1]s && %[2]s || %[3]s", "%[1]s || %[2]s && %[3]s", "%[1]s | %[2]s", "! %[1]s; %[2]s",
		"{ %[1]s; }; %[2]s", "{ %[1]s; } < missing; %[2]s", "{ %[1]s; } < README.md; %[2]s", "( %[1]s ); %[2]s", "{ %[1]s; } & %[2]s", "if %[1]s; then %[2]s; else %[3]s; fi", "if %[1]s; then %[2]s; fi; %[3]s",
		"if false; then %[1]s; elif true; then %[2]s; fi; %[3]s", "for d in . a; do %[1]s; %[2]s; done", "for e in ..; do %[1]s; done; %[2]s", "for d in src/*; do %[1]s; done", "while read d; do %[1]s; done < list; %[2]s",
		"until %[1]s; do %[2]s; break; done; %[3]s", "case a in b) %[1]s;; a) %[2]s;; esac; %[3]s", "case $d in .) %[1]s;; *) %[2]s;; esac", `echo "$(%[1]s)"; %[2]s`, "x=$(%[1]s); %[2]s", "cat <(%[1]s); %[2]s",
		"time { %[1]s; }; %[2]s", "%[1]s\n%[2]s")
	return fmt.Sprintf(form+"%.0[1]s%.0[2]s%.0[3]s", a, b, c)
}

// What runs unasked tells nothing and changes nothing, whichever way it takes.
func TestUnaskedWhicheverWay(t *testing.T) {
	t.Parallel()
	seed := uint64(1)
	if s, err := strconv.ParseUint(os.Getenv("ADZE_SEED"), 10, 64); err == nil {
		seed = s
	}
	w := flowGen{rand.New(rand.NewPCG(seed, 7))}
	b := startBox(t)
	p := permission.New(calmWorld(), permission.Default)
	made, ran := int(60000*share()), 0
	for range made {
		line := w.line(3)
		if p.Judge(commandRequest(line)).Verdict != tool.Allow || strings.Contains(line, "until") && strings.Contains(line, "continue") {
			continue
		}
		e := b.run(t, order{Command: line, Unasked: true, Judge: true})
		if e.harm() != "" {
			t.Errorf("%q: %s: %s", line, e.harm(), e.Output)
		}
		if !e.Asked {
			ran++
		}
	}
	t.Logf("%d lines made up, %d of them unasked and run", made, ran)
}
