package shell_test

import (
	"fmt"
	"os/exec"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/soak"
	"github.com/adze-dev/adze/permission/internal/bashlab"
	"github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/permission/shell/prove"
)

func ExampleRead() {
	script, _ := shell.Read(`cd src && sudo r\m -rf 'a b'`, bash.Options{Dir: "/home/me/app"})
	for _, c := range script.Commands {
		fmt.Printf("%q in %q: %q\n", c.Argv(), c.Dirs, prove.Prove(c).Why)
	}
	// Output:
	// ["cd" "src"] in ["/home/me/app"]: ""
	// ["sudo" "rm" "-rf" "a b"] in ["/home/me/app/src"]: "sudo is not on the read-only list"
	// ["rm" "-rf" "a b"] in ["/home/me/app/src"]: "it is run by sudo"
}

// Words are read as bash reads them.
func TestWordsAreBash(t *testing.T) {
	bashPath, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	for _, words := range []string{
		`a b`, `'a b' c`, `"a b"c`, `a\ b`, `a''b`, `"a"'b'c`, `$'a\tb'`, `$'\x41\101'`, `$'a\'b'`, `"a\"b"`, `"a\$b"`, `"a\nb"`, `'a\nb'`, `a\nb`, `"a\\b"`, `\\`, `"\a"`, `'"'`, `"'"`,
		`{a,b}`, `x{a,b}y`, `{a,b}{c,d}`, `{a}`, `{}`, `{a,}`, `{1..3}`, `{1.."3"}`, `{'1'..3}`, `{1..''3}`, `a{1..3}'b'`, `$HOME{a,b}`, `a{,b}`, `{a,b`, `a}`, `\{a,b}`, `{a\,b}`, `"{a,b}"`, `{"a b",c}`, `a,b`, `HEAD@{1}`, `x=~y`, `a#b`, `\#a`, `'#a'`,
		"a\\\nb", "'a\\\nb'", "\"a\\\nb\"", `a=b`, `--x="y z"`, `-"n"`, `''`, `""`, `a""`, `!`, `%a`, `a~b`, `é`, `$'a\\b'`, `"a'b"`, `^`, `@`, `]`, `a:b`,
	} {
		out, err := exec.Command(bashPath, "-c", `set -f; printf '%s\0' `+words).Output()
		if err != nil {
			t.Fatalf("%s: %v", words, err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		script, err := shell.Read("cmd "+words, bash.Options{Dir: "/"})
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		c := script.Commands[0]
		known := true
		for _, w := range c.Words {
			known = known && w.Kind == bash.Literal
		}
		if !known {
			t.Logf("%s: not known", words)
			continue
		}
		if diff := cmp.Diff(want, c.Argv()[1:]); diff != "" {
			t.Errorf("%s: %s", words, diff)
		}
	}
}

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
		"env -C a x":                     "?",
		"env --ch=a x":                   "?",
		"env -iCa x":                     "?",
		"f() { x; }; cd a; f":            "?",
		"trap x EXIT; cd a":              "?",
	} {
		script, err := shell.Read(line, bash.Options{Dir: "/w", Home: "/h"})
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
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

// Lines that bash and the parser read differently are rejected. Each of these was accepted once.
func TestOddLinesAreNotRead(t *testing.T) {
	for _, line := range []string{
		"ls \\\r\ntouch x", "ls x\r\nls", "ls\r", "ls # \\\ntouch x", "echo $(ls ''#; touch x\n)", "cat $\\\nHOME/x", "echo `ls '\\\n'`", "cat <<E\n\\\nE\ntouch x\nE", "cat <<E#\nE\\\n#\ntouch x\nE#",
		"echo $(cat <<E\nE)\ntouch x\nE\n)", "echo $(<<E\nE\nsort;ls -o x)", "echo $(cat <<E\nx\nE\nsort;ls -o x)", "diff <(cat <<E\nx\nE\nsort; ls -o x) y", "time -- ls", "coproc ls", "coproc A { ls; }", "coproc A ls", "coproc A ls | cat", "coproc A=1 ls", `coproc A="" ls`, "echo $(coproc ls)", `\x=[ ls`, "}=[", "ls &\\\n>x a", "ls 2\\\n>x", "ls >\\\n\\\n&x", "(''\\\n#\n)", "+=[", "coproc p #\\\ntouch x", "ls | time cat", "ls @(a)", "echo `ls \\* `", "!(touch x)", "[[ a = @($(touch x)) ]]", "ls >&'$(touch x)'", "ls >&-x", "cat <&-x", "sort -t <() -k -o x", "echo \"`echo \"{a,b}\"`\"",
		"time -\\\n- ls", "ls <&-''", "bash -c 'ls \\\r\ntouch x'",
	} {
		if script, err := shell.Read(line, bash.Options{Dir: "/w", Home: "/h"}); err == nil {
			t.Errorf("%q is read: %v", line, script.Commands[0])
		}
	}
	for _, line := range []string{
		"ls # x\nls", "ls |\\\ncat", "ls \\\n| cat", "ls a\\\n;ls", "ls;# x", "(# x\nls)", "cat <<E\na \\\nb\nE\nls", "cat <<'E'\na \\\nE", "x=$(cat <<E\na\nE\n)", "git commit -m \"$(cat <<'EOF'\na; b\n\nc\nEOF\n)\" && git status", "[[ a = @(a|b) ]]", "ls >&2", "ls >&-", "ls >&x", "ls 2>&1-", "echo \"`ls`\" {a,b}", "time -p ls",
	} {
		if _, err := shell.Read(line, bash.Options{Dir: "/w", Home: "/h"}); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// No input makes Read panic or run for long.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"ls", "a && b | c", "cat <<E\nx\nE\n", "$(x) `y` ${z:-$(w)}", "bash -c 'x' <<< y", "find . -exec a {} \\;", "a={b,c} {d,e}", "[[ a -nt b ]]", "case a in b) c;; esac", "# \\\nx"} {
		f.Add(s)
	}
	for _, line := range bashlab.ReadCorpus(f, "../testdata").All() {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		start := time.Now()
		script, err := shell.Read(line, bash.Options{Dir: "/w", Home: "/h"})
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("took %v", took)
		}
		if err != nil {
			return
		}
		p, _ := match.ParsePattern("rm -rf", true)
		for _, c := range script.Commands {
			prove.Prove(c)
			match.Mentions(c, func(prove.Touch) bool { return true })
			p.Match(c)
			p.Covers(c)
			_ = c.String()
		}
	})
}

// A message of many lines was read as many paths, each nearly as long as the message: git commit -m with 16 KB took more
// than 50 ms, so it couldn't be checked.
func TestLongTextsNameFewPaths(t *testing.T) {
	for name, text := range map[string]string{
		"a message": strings.Repeat("- a thing, and why\n", 3000),
		"a program": strings.Repeat("x = open(\"f\"), y\n", 3000),
		"paths":     strings.Repeat(",a/../b", 8000),
		"colons":    strings.Repeat("a:", 30000),
	} {
		for _, command := range []string{"git commit -m", "python3 -c", "mytool"} {
			s, err := shell.Read(command+" '"+text+"'", bash.Options{Dir: "/p", Home: "/home/me"})
			if err != nil {
				t.Fatal(err)
			}
			read := 0
			for _, c := range s.Commands {
				match.Mentions(c, func(at prove.Touch) bool { read += len(at.Path); return true })
			}
			if most := 100 * len(text); read > most {
				t.Errorf("%s with %s of %d bytes: %d bytes of paths, want at most %d", command, name, len(text), read, most)
			}
		}
	}
}

// git cleans paths of any length: rules on paths didn't match git add ./././… with 5 KB of dots.
func TestLongPathsAreMentioned(t *testing.T) {
	dots := strings.Repeat("./", 3000)
	for _, line := range []string{"git add " + dots + "secret", "mytool --file=" + dots + "secret", "mytool a," + dots + "secret,b", "python3 -c 'f(\"" + dots + "secret\")'"} {
		s, err := shell.Read(line, bash.Options{Dir: "/p"})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		match.Mentions(s.Commands[0], func(at prove.Touch) bool {
			found = found || path.Clean(at.Path) == "/p/secret"
			return true
		})
		if !found {
			t.Errorf("%s…: the path is not mentioned", line[:30])
		}
	}
}

// An argument of git that ends in a backslash caused endless recursion.
func TestGitWordEndsInBackslash(t *testing.T) {
	for _, line := range []string{`git log 'x\'`, `git diff -- '\'`, `git show 'HEAD:a\\\'`} {
		script, err := shell.Read(line, bash.Options{Dir: "/x"})
		if err != nil {
			t.Fatal(err)
		}
		if p := prove.Prove(script.Commands[0]); p.Why != "" {
			t.Errorf("%s: %s", line, p.Why)
		}
	}
}

// Lines that are made to take long are read, or refused, in a moment. One that isn't hangs until the timeout.
func TestHostileLines(t *testing.T) {
	size := bash.MaxBytes / 4
	if soak.Share() >= 0.1 {
		size = bash.MaxBytes
	}
	for name, line := range map[string]string{
		"list":       strings.Repeat("a;", 32<<10),
		"or":         "x=a;" + strings.Repeat("true||", 10<<10) + "b",
		"and":        "x=a" + strings.Repeat("&&cd b", 10<<10),
		"pipes":      "a" + strings.Repeat("|a", 30<<10),
		"runners":    strings.Repeat("npx ", 16<<10) + "x",
		"wrappers":   strings.Repeat("env ", 16<<10) + "x",
		"guesses":    strings.Repeat("sudo --new npx docker exec ", 2<<10),
		"git":        "git " + strings.Repeat("run foreach ", 4<<10) + "x",
		"eval":       strings.Repeat("eval ", 12<<10) + "x",
		"texts":      strings.Repeat("eval 'a b'; ", 5<<10),
		"loops":      strings.Repeat("for i in 1 2 3; do ", 60) + "x $i" + strings.Repeat("; done", 60),
		"variables":  strings.Repeat("x=a; y=$x; ", 5<<10),
		"braces":     "x " + strings.Repeat("{a,b}", 12<<10),
		"words":      "for f in" + strings.Repeat(" a", 30<<10) + "; do x $f; done",
		"functions":  strings.Repeat("f() { x=a; }; ", 4<<10),
		"twice":      "(( x )); " + strings.Repeat("y='$(a)'; ", 6<<10),
		"quotes":     "x " + strings.Repeat(`"$(a)" '$'`, 5<<10),
		"subshells":  strings.Repeat("(", 60) + strings.Repeat("x=$(a);", 8<<10) + strings.Repeat(")", 60),
		"here":       strings.Repeat("cat <<E\na\nE\n", 5<<10),
		"tests":      "[[ a" + strings.Repeat(" && -f b", 7<<10) + " ]]",
		"find":       "find ." + strings.Repeat(" -exec npx b {} +", 3<<10),
		"backquotes": strings.Repeat("`", 120) + strings.Repeat("a ", 20<<10),
	} {
		if _, err := shell.Read(line[:min(len(line), size)], bash.Options{Dir: "/w", Home: "/h"}); err != nil {
			t.Logf("%s: %v", name, err)
		}
	}
}
