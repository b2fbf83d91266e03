package bash

import (
	"strings"
	"testing"
)

// Lines that bash and the parser read differently are rejected. Each of these was accepted once.
func TestOddLinesAreNotRead(t *testing.T) {
	for _, line := range []string{
		"ls \\\r\ntouch x", "ls x\r\nls", "ls\r", "ls # \\\ntouch x", "echo $(ls ''#; touch x\n)", "cat $\\\nHOME/x", "echo `ls '\\\n'`", "cat <<E\n\\\nE\ntouch x\nE", "cat <<E#\nE\\\n#\ntouch x\nE#",
		"echo $(cat <<E\nE)\ntouch x\nE\n)", "echo $(<<E\nE\nsort;ls -o x)", "echo $(cat <<E\nx\nE\nsort;ls -o x)", "diff <(cat <<E\nx\nE\nsort; ls -o x) y", "time -- ls", "coproc ls", "coproc A { ls; }", "coproc A ls", "coproc A ls | cat", "coproc A=1 ls", `coproc A="" ls`, "echo $(coproc ls)", `\x=[ ls`, "}=[", "ls &\\\n>x a", "ls 2\\\n>x", "ls >\\\n\\\n&x", "(''\\\n#\n)", "+=[", "coproc p #\\\ntouch x", "ls | time cat", "ls @(a)", "echo `ls \\* `", "!(touch x)", "[[ a = @($(touch x)) ]]", "ls >&'$(touch x)'", "ls >&-x", "cat <&-x", "sort -t <() -k -o x", "echo \"`echo \"{a,b}\"`\"",
		"time -\\\n- ls", "ls <&-''",
	} {
		if script, err := Read(line, Options{Dir: "/w", Home: "/h"}, nil); err == nil {
			t.Errorf("%q is read: %v", line, script.Commands[0])
		}
	}
	for _, line := range []string{
		"ls # x\nls", "ls |\\\ncat", "ls \\\n| cat", "ls a\\\n;ls", "ls;# x", "(# x\nls)", "cat <<E\na \\\nb\nE\nls", "cat <<'E'\na \\\nE", "x=$(cat <<E\na\nE\n)", "git commit -m \"$(cat <<'EOF'\na; b\n\nc\nEOF\n)\" && git status", "[[ a = @(a|b) ]]", "ls >&2", "ls >&-", "ls >&x", "ls 2>&1-", "echo \"`ls`\" {a,b}", "time -p ls",
	} {
		if _, err := Read(line, Options{Dir: "/w", Home: "/h"}, nil); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestTooDeep(t *testing.T) {
	for line, want := range map[string]bool{
		strings.Repeat("(", 65): true, strings.Repeat("(", 60) + strings.Repeat(")", 60): false, strings.Repeat("if ", 600): true, strings.Repeat("`", 200): true, strings.Repeat("()", 1000): false, "ls": false,
	} {
		if got := tooDeep(line); got != want {
			t.Errorf("%.20s: %v", line, got)
		}
	}
}
