//go:build unix

package permission_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/adze-dev/adze/internal/dev/bashlab"
	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

var somePatterns = []string{
	"Shell(rm)", "Shell(git push)", "Shell(ls:*)", "Shell(npm test)", "Shell(cat:*)", "Shell(bash:*)", "Shell(*)", "Shell(sudo:*)", "Shell(xargs:*)", "Shell(echo:*)", "Shell(find:*)",
	"Read(.env)", "Read(src/**)", "Edit(src/**)", "Read", "Edit", "Shell", "Shell(git:*)", "Shell(touch:*)", "Shell(sort:*)", "run_shell_command", "Read(//home/me/**)",
}

// draws makes choices that rapid can shrink.
type draws struct{ *rapid.T }

func (d draws) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.T, "choice") }

func someLines(t testing.TB) []string {
	lines := corpus(t).All()
	for _, e := range readRules(t) {
		lines = append(lines, e.command)
	}
	return lines
}

// Another deny or ask rule never makes a verdict milder, nor does OnlyRules. Another allow rule never makes it stricter.
func TestMoreRulesAreNeverMilder(t *testing.T) {
	lines := someLines(t)
	list := rapid.SliceOfN(rapid.SampledFrom(somePatterns), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom(lines).Draw(t, "line")
		allow, ask, deny := list.Draw(t, "allow"), list.Draw(t, "ask"), list.Draw(t, "deny")
		mode := rapid.SampledFrom(permission.Modes()).Draw(t, "mode")
		more := rapid.SampledFrom(somePatterns).Draw(t, "more")
		judge := func(r permission.Rules, o permission.Options) tool.Verdict {
			d, why := permission.Check(plainWorld(), r, mode, o, commandRequest(line))
			if len(why) == 0 || d.Reason == "" {
				t.Fatalf("%s: no reason", line)
			}
			return d.Verdict
		}
		before := judge(parse(t, allow, ask, deny), permission.Options{})
		if got := judge(parse(t, allow, ask, append(deny[:len(deny):len(deny)], more)), permission.Options{}); got > before {
			t.Fatalf("%s: %v, with deny %s %v", line, before, more, got)
		}
		if got := judge(parse(t, allow, append(ask[:len(ask):len(ask)], more), deny), permission.Options{}); got > before {
			t.Fatalf("%s: %v, with ask %s %v", line, before, more, got)
		}
		if got := judge(parse(t, allow, ask, deny), permission.Options{OnlyRules: true}); got > before {
			t.Fatalf("%s: %v, without the built-in approval %v", line, before, got)
		}
		if got := judge(parse(t, append(allow[:len(allow):len(allow)], more), ask, deny), permission.Options{}); got < before {
			t.Fatalf("%s: %v, with allow %s %v", line, before, more, got)
		}
	})
}

// However a denied word is quoted, wrapped or nested, it stays denied.
func TestQuotingStaysDenied(t *testing.T) {
	rules := parse(t, []string{"Shell(*)"}, nil, []string{"Shell(rm)", "Shell(git push)"})
	lines := corpus(t)
	rapid.Check(t, func(t *rapid.T) {
		g := bashlab.NewGenerator(draws{t}, lines)
		words := rapid.SampledFrom([][]string{{"rm", "-rf", "x"}, {"git", "push", "origin"}, {"rm", "a b"}}).Draw(t, "words")
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, g.Spell(w))
		}
		line := strings.Join(quoted, rapid.SampledFrom([]string{" ", "  ", "\t", " \\\n "}).Draw(t, "gap"))
		for range rapid.IntRange(0, 4).Draw(t, "depth") {
			line = g.Nest(line)
		}
		for _, m := range permission.Modes() {
			if d, why := permission.Check(plainWorld(), rules, m, permission.Options{}, commandRequest(line)); d.Verdict != tool.Deny {
				t.Fatalf("%s: %q: %v\n%s", m, line, d.Verdict, strings.Join(why, "\n"))
			}
		}
	})
}

// assigns matches a variable that is set, which affects the commands after it.
var assigns = regexp.MustCompile(`(^|[\s;&|({])[A-Za-z_]\w*\+?=`)

// The verdict on a list of lines is the strictest of their verdicts alone, in any order and with repetitions. Results for
// one command of a line are reused for equal commands.
func TestTogetherAsAlone(t *testing.T) {
	serial.Test(t)
	var lines []string
	for _, l := range someLines(t) {
		// Only lines that don't change the shell, and that end at the end of the line.
		first := strings.Trim(strings.Fields(l + " x")[0], "[")
		if !strings.ContainsAny(first, "*?[~") && !strings.ContainsAny(l, "\n#\\`") && !strings.Contains(l, "cd") && !strings.Contains(l, "<<") && !strings.Contains(l, "()") &&
			!slices.ContainsFunc([]string{"pushd", "popd", "command", "builtin", "eval", "source", "$", ". ", "exec", "alias", "function", "trap", "mapfile", "readarray", "shopt", "set ", "enable", "HOME", "PATH", "PWD"}, func(s string) bool { return strings.Contains(l, s) }) &&
			!assigns.MatchString(l) && !tool.Hidden(l) && alone(l, permission.Rules{}, permission.Yolo) == tool.Allow {
			lines = append(lines, l)
		}
	}
	slices.Sort(lines)
	if len(lines) < 600 {
		t.Fatalf("only %d lines are left", len(lines))
	}
	list := rapid.SliceOfN(rapid.SampledFrom(somePatterns), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.SliceOfN(rapid.SampledFrom(lines), 1, 4).Draw(t, "lines")
		rules := parse(t, list.Draw(t, "allow"), list.Draw(t, "ask"), list.Draw(t, "deny"))
		mode := rapid.SampledFrom(permission.Modes()).Draw(t, "mode")
		want := tool.Allow
		for _, l := range few {
			want = min(want, alone(l, rules, mode))
		}
		many := append(slices.Clone(few), rapid.SliceOfN(rapid.SampledFrom(few), 0, 8).Draw(t, "again")...)
		many = rapid.Permutation(many).Draw(t, "order")
		if got := alone(strings.Join(many, "\n"), rules, mode); got != want {
			t.Fatalf("%s: %v, alone %v", strings.Join(many, "\n"), got, want)
		}
	})
}

func alone(line string, rules permission.Rules, m permission.Mode) tool.Verdict {
	d, _ := permission.Check(plainWorld(), rules, m, permission.Options{}, commandRequest(line))
	return d.Verdict
}

// madeCommand is a simple command of a madeLine.
type madeCommand struct {
	words    string
	readOnly bool // also in its place
	plain    bool // an allow rule on its words can cover it in its place
}

// madeLine is a line together with the commands that it runs, so that a test needn't read it.
type madeLine struct {
	line     string
	all      []madeCommand
	simple   bool // it is one simple command
	function bool // it has a part that only a rule for every command covers
}

// makeLine makes up a line of commands in commands.
func makeLine(t *rapid.T, depth int) madeLine {
	if depth == 0 {
		words := rapid.SampledFrom([]string{"ls -la", "cat a.txt", "wc -l a.txt", "cargo test", "git push origin", "rm x", "make all"}).Draw(t, "words")
		return madeLine{line: words, simple: true, all: []madeCommand{{words, words[0] == 'l' || words[0] == 'w' || words[:2] == "ca" && words[2] == 't', true}}}
	}
	s := makeLine(t, depth-1)
	add := func(words string, readOnly, plain bool) { s.all = append(s.all, madeCommand{words, readOnly, plain}) }
	inner := func(readOnly, plain bool) {
		s.all = slices.Clone(s.all)
		for i := range s.all {
			s.all[i].readOnly = s.all[i].readOnly && readOnly
			s.all[i].plain = s.all[i].plain && plain
		}
	}
	simple := false
	switch kind := rapid.SampledFrom([]string{"group", "list", "two", "wrapper", "free wrapper", "shell", "substitution", "function"}).Draw(t, "kind"); {
	case kind == "group":
		s.line = fmt.Sprintf(rapid.SampledFrom([]string{"( %s )", "{ %s; }", "for f in a b; do %s; done", "case x in x) %s;; esac", "{ ! { %s; }; }"}).Draw(t, "group"), s.line)
	case kind == "list":
		s.line = fmt.Sprintf(rapid.SampledFrom([]string{"pwd; %s", "%s && pwd", "pwd || %s", "%s | pwd", "pwd | %s", "%s\npwd", "if pwd; then %s; fi", "%s & pwd"}).Draw(t, "list"), s.line)
		add("pwd", true, true)
	case kind == "two":
		other := makeLine(t, depth-1)
		s.line += rapid.SampledFrom([]string{"; ", " && ", " | ", "\n"}).Draw(t, "between") + other.line
		s.all = append(s.all[:len(s.all):len(s.all)], other.all...)
		s.function = s.function || other.function
	case kind == "wrapper" && s.simple:
		inner(false, true)
		s.line, simple = rapid.SampledFrom([]string{"nohup ", "env ", "setsid "}).Draw(t, "wrapper")+s.line, true
		add(s.line, false, true)
	case kind == "free wrapper" && s.simple:
		s.line, simple = rapid.SampledFrom([]string{"timeout 5 ", "nice "}).Draw(t, "free")+s.line, true
		add(s.line, true, true)
	case kind == "shell":
		inner(false, true)
		s.line = "bash -c '" + strings.ReplaceAll(s.line, "'", `'\''`) + "'"
		simple = true
		add(s.line, false, true)
	case kind == "substitution":
		inner(false, false)
		s.line = "echo $( " + s.line + " )"
		add("echo $", false, false)
	case kind == "function":
		inner(false, false)
		s.line, s.function = "f() { "+s.line+"\n}", true
	}
	s.simple = simple
	return s
}

// ruleSource has the rules of one source: the user's settings, the project's, or flags.
type ruleSource struct{ allow, ask, deny []string }

// judgeByDesign follows the order in docs/design.md: deny rules, denials of plan mode, ask rules, allow rules, the table of
// modes. A rule is compared by its words; deny and ask rules also match longer commands.
func judgeByDesign(s madeLine, from []ruleSource, m permission.Mode, readOnly bool) tool.Verdict {
	named := func(list func(ruleSource) []string, c madeCommand) bool {
		for _, f := range from {
			for _, rule := range list(f) {
				if rule == "*" || c.words == strings.TrimSuffix(rule, ":*") || strings.HasPrefix(c.words, strings.TrimSuffix(rule, ":*")+" ") {
					return true
				}
			}
		}
		return false
	}
	covered := func(c madeCommand) bool {
		for _, f := range from {
			for _, rule := range f.allow {
				head, open := strings.CutSuffix(rule, ":*")
				if rule == "*" || c.plain && (c.words == head || open && strings.HasPrefix(c.words, head+" ")) {
					return true
				}
			}
		}
		return false
	}
	everything := slices.ContainsFunc(from, func(f ruleSource) bool { return slices.Contains(f.allow, "*") })
	denied, asked, allReadOnly, allAllowed := false, false, readOnly && !s.function, !s.function || everything
	for _, c := range s.all {
		denied = denied || named(func(f ruleSource) []string { return f.deny }, c)
		asked = asked || named(func(f ruleSource) []string { return f.ask }, c)
		allReadOnly = allReadOnly && c.readOnly
		allAllowed = allAllowed && (c.readOnly && readOnly || covered(c))
	}
	switch {
	case denied:
		return tool.Deny
	case m == permission.Plan && !allReadOnly:
		return tool.Deny
	case asked:
		return tool.Ask
	case allAllowed || allReadOnly || m == permission.Yolo:
		return tool.Allow
	}
	return tool.Ask
}

// The policy follows the order in docs/design.md, for all orders and sources of rules and all depths of commands. The source
// of a rule makes no difference: the lists are joined.
func TestOrderOfRules(t *testing.T) {
	rules := []string{
		"ls", "ls -la", "cat:*", "cargo test", "cargo:*", "git push", "git push origin", "rm", "rm x", "make", "make all", "pwd", "wc:*",
		"nohup:*", "env:*", "setsid:*", "bash:*", "bash -c:*", "timeout:*", "nice:*", "echo:*", "nothing:*", "*",
	}
	some := rapid.SliceOfN(rapid.SampledFrom(rules), 0, 2)
	many := rapid.SliceOfN(rapid.SampledFrom(rules), 0, 5)
	draw := rapid.Custom(func(t *rapid.T) ruleSource {
		return ruleSource{many.Draw(t, "allow"), some.Draw(t, "ask"), some.Draw(t, "deny")}
	})
	wrap := func(list []string) []string {
		var out []string
		for _, r := range list {
			out = append(out, "Shell("+r+")")
		}
		return out
	}
	verdicts := map[tool.Verdict]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := makeLine(t, rapid.IntRange(0, 4).Draw(t, "depth"))
		from := rapid.SliceOfN(draw, 3, 3).Draw(t, "user, project, flags")
		mode := rapid.SampledFrom(permission.Modes()).Draw(t, "mode")
		readOnly := rapid.Bool().Draw(t, "read-only approval")
		want := judgeByDesign(s, from, mode, readOnly)
		for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
			var allow, ask, deny []string
			for _, i := range order {
				allow, ask, deny = append(allow, wrap(from[i].allow)...), append(ask, wrap(from[i].ask)...), append(deny, wrap(from[i].deny)...)
			}
			d, why := permission.Check(plainWorld(), parse(t, allow, ask, deny), mode, permission.Options{OnlyRules: !readOnly}, commandRequest(s.line))
			if d.Verdict != want {
				t.Fatalf("%s\nallow %v\nask %v\ndeny %v\n%s, read-only approval %v: %v, want %v\n%s", s.line, allow, ask, deny, mode, readOnly, d.Verdict, want, strings.Join(why, "\n"))
			}
		}
		verdicts[want]++
	})
	if len(verdicts) < 3 {
		t.Errorf("not all verdicts came up: %v", verdicts)
	}
}
