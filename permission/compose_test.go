//go:build unix

package permission_test

import (
	"fmt"
	"strings"
)

// The composer puts commands together from the tables themselves: every command that may be harmless, its flags alone,
// in clusters and with values, operands that are bait, redirections, and all the ways to write a word.

var bait = []string{
	"README.md", "src", "src/main.go", ".", "*.go", "src/*", "*.txt", "*.md", "list", "@list", "-odd", "./-odd", "--output=x", "'a b'", ".env", "./.env", "src/../.env", "conf", "conf/*", "conf/.e*",
	"out", "out/notes.txt", "out/.ssh", "src/link", "src/inner", "src/lenv", "/etc/hosts", "~/notes.txt", "..", "../notes.txt", "*/../../notes.txt", "HEAD", "HEAD:README.md", "HEAD:.env", "main", "feature", "v1.0", "x", "y", "'*.md'", "'.e*'", "'*'",
	"{a.txt,b.txt}", "{a.txt,.env}", "--", "-", "1,5p", "'s/a/b/'", "'{print $1}'", "'{print > \"x\"}'", "'w x'", "p", "1", "5", "foo", "hello", "$HOME", "~", "$PWD", ":/", "':(top)'", "':!src'", "ls", "./evil.sh", "evil", "read", "recurse", "0",
	"'.a'", ".", "+%s", "-name", "-type", "f", "=", "-f", "]", "stash@{0}", "user.name", "get-url", "list", "show", "data.csv", "data.json", "big.txt", "a.txt b.txt", "src docs", "conf src", ". conf", "2", "\"$f\"", "$f", "$i", "{}", "'{}'",
}

var redirections = []string{
	" 2>/dev/null", " > /dev/null", " >/dev/null 2>&1", " < README.md", " > x", " 2>&1", " >&2", " <<< x", " < .env", " &> x", " >> x", " <> x", " 3> x", " 2>&1 > x", " <<EOF\nhi\nEOF\n", " <<'EOF'\n$(touch x)\nEOF\n", " < src/lenv", " >&x",
}

// frames are what commands stand in: %s is a command, %r a redirection or nothing, %o an operand.
var frames = []string{
	"%s", "%s", "%s", "%s", "%s%r", "%s | %s", "%s && %s", "%s || %s%r", "%s; %s", "%s\n%s", "%s & %s", "cd %o && %s", "cd %o; %s", "(cd %o && %s)", "(%s)%r", "{ %s; }%r", "! %s", "time %s", "timeout 5 %s", "command %s", "nice %s",
	"[[ -f %o ]]%r", "[[ -f %o ]]%r && %s", "[ -f %o ]%r && %s", "test -d %o || %s", "if %s; then %s; fi%r", "if [[ -d %o ]]; then %s; else %s; fi", "case a in a) %s;; *) %s;; esac%r", "case %o in esac%r", "for f in %o %o; do %s; done%r",
	"for f in %o; do %s%r; done", "for f in *.txt; do %s; done", "for i in 1 2; do %s; done", "while false; do %s; done%r", "LC_ALL=C %s", "f=%o; %s", "f=%o && %s; %s", "find %o -name '*.md' -exec %s {} \\;", "find %o -type f -exec %s {} +",
	"find %o -name '*.go' | xargs %s", "find %o -name '*.md' -print0 | xargs -0 %s", "git ls-files %o | xargs %s", "grep -rl a %o | xargs %s", "%s | xargs %s", "while read -r f; do %s; done < %o", "%s | while read f; do %s; done", "echo %o | xargs %s",
	"xargs %s < list", "git -C %o %s", "cat <<EOF | %s\n%o\nEOF\n", "[ -n %o ] && %s", "[ %o = %o ]%r && %s", "[[ %o == %o ]] && %s", "f=%o; for f in %o; do %s; done; %s",
}

// compose makes up one line.
func (s *lineGen) compose() string {
	var b strings.Builder
	frame := pick(s, frames)
	for {
		before, after, found := strings.Cut(frame, "%")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		switch after[0] {
		case 's':
			b.WriteString(s.call())
		case 'r':
			if s.IntN(2) == 0 {
				b.WriteString(pick(s, redirections))
			}
		case 'o':
			b.WriteString(pick(s, bait))
		}
		frame = after[1:]
	}
}

// call makes up a simple command.
func (s *lineGen) call() string {
	if s.IntN(8) == 0 {
		return pick(s, s.harmless)
	}
	name := pick(s, s.commands)
	parts := []string{s.quote(name)}
	for range s.IntN(4) {
		parts = append(parts, s.flag(name))
	}
	for range s.IntN(4) {
		parts = append(parts, pick(s, bait))
	}
	if s.IntN(6) == 0 { // a flag may also stand behind
		parts = append(parts, s.flag(name))
	}
	return strings.Join(parts, " ")
}

// flag is one of a command's flags, often with others in its word.
func (s *lineGen) flag(name string) string {
	flags := flagsByCommand()[name]
	if len(flags) == 0 {
		return pick(s, bait)
	}
	f := pick(s, flags)
	base, valued := strings.CutSuffix(f, " VALUE")
	base, optional, _ := strings.Cut(base, "[")
	short := len(base) == 2
	switch {
	case short && s.IntN(4) == 0: // a cluster; its letters may mean something else to the command
		return s.quote(base + string("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[s.IntN(62)]))
	case valued && short && s.IntN(2) == 0:
		return base + pick(s, bait)
	case valued && s.IntN(2) == 0:
		return base + "=" + pick(s, bait)
	case valued:
		return base + " " + pick(s, bait)
	case optional != "" && short:
		return base + pick(s, bait)
	case optional != "":
		return base + "=" + pick(s, bait)
	}
	return s.quote(base)
}

// quote writes a plain word in another way, now and then.
func (s *lineGen) quote(word string) string {
	if s.IntN(10) != 0 || strings.Contains(word, " ") || len(word) < 2 {
		return word
	}
	at := 1 + s.IntN(len(word)-1)
	return pick(s, []string{
		"'" + word + "'", `"` + word + `"`, "$'" + word + "'", word[:at] + "''" + word[at:], word[:at] + `\` + word[at:], word[:at] + "\\\n" + word[at:],
		fmt.Sprintf(`$'\x%02x%s'`, word[0], word[1:]), fmt.Sprintf(`$'\%03o'%s`, word[0], word[1:]), "{" + word + ",x}",
	})
}
