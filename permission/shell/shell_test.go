package shell_test

import (
	"fmt"
	"os/exec"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/internal/dev/bashlab"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/internal/dev/soak"
	"github.com/adze-dev/adze/permission/shell"
	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/form"
	"github.com/adze-dev/adze/permission/shell/match"
)

func ExampleRead() {
	script, _ := shell.Read(`cd src && sudo r\m -rf 'a b'`, bash.Options{Dir: "/home/me/app"})
	for _, c := range script.Commands {
		_, why := form.Read(c)
		fmt.Printf("%q in %q: %q\n", c.Argv(), c.Dirs, why)
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

// No input makes Read panic or run for long.
func FuzzRead(f *testing.F) {
	serial.Test(f)
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
			form.Read(c)
			match.Mentions(c, func(match.Touch) bool { return true })
			p.Match(c)
			p.Covers(c)
			_ = c.String()
		}
	})
}

// A message of many lines was read as many paths, each nearly as long as the message: git commit -m with 16 KB took more
// than 50 ms, so it couldn't be checked.
func TestLongTextsNameFewPaths(t *testing.T) {
	serial.Test(t)
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
				match.Mentions(c, func(at match.Touch) bool { read += len(at.Path); return true })
			}
			if limit := 100 * len(text); read > limit {
				t.Errorf("%s with %s of %d bytes: %d bytes of paths, want at most %d", command, name, len(text), read, limit)
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
		match.Mentions(s.Commands[0], func(at match.Touch) bool {
			found = found || path.Clean(at.Path) == "/p/secret"
			return true
		})
		if !found {
			t.Errorf("%s…: the path is not mentioned", line[:30])
		}
	}
}

// Lines that are made to take long are read, or refused, in a moment. One that isn't hangs until the timeout.
func TestHostileLines(t *testing.T) {
	serial.Test(t)
	size := bash.MaxBytes / 4
	if soak.On() {
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
