//go:build unix

package permission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// spoken is a simple command as the reference knows it: it made the line up, so it need not read it.
type spoken struct {
	words    string
	harmless bool // known to be so, where it stands
	plain    bool // a rule on words can cover it where it stands
}

// speech is a line with all that it runs.
type speech struct {
	line    string
	all     []spoken
	simple  bool // one simple command
	oddness bool // a part that only a rule for every command covers
}

// speak makes up a line of commands within commands.
func speak(t *rapid.T, depth int) speech {
	if depth == 0 {
		words := rapid.SampledFrom([]string{"ls -la", "cat a.txt", "wc -l a.txt", "cargo test", "git push origin", "rm x", "make all"}).Draw(t, "words")
		return speech{line: words, simple: true, all: []spoken{{words, words[0] == 'l' || words[0] == 'w' || words[:2] == "ca" && words[2] == 't', true}}}
	}
	s := speak(t, depth-1)
	add := func(words string, harmless, plain bool) { s.all = append(s.all, spoken{words, harmless, plain}) }
	inner := func(harmless, plain bool) {
		s.all = slices.Clone(s.all)
		for i := range s.all {
			s.all[i].harmless = s.all[i].harmless && harmless
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
		other := speak(t, depth-1)
		s.line += rapid.SampledFrom([]string{"; ", " && ", " | ", "\n"}).Draw(t, "between") + other.line
		s.all = append(s.all[:len(s.all):len(s.all)], other.all...)
		s.oddness = s.oddness || other.oddness
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
		s.line, s.oddness = "f() { "+s.line+"\n}", true
	}
	s.simple = simple
	return s
}

// source is where rules come from: the user's settings, the project's, flags.
type source struct{ allow, ask, deny []string }

// judgeSlowly is the order of design.md, as it is written there: deny rules, plan's denials, ask rules, allow rules, the
// table. A rule is its words; in deny and ask whatever follows is meant too.
func judgeSlowly(s speech, from []source, m permission.Mode, readOnly bool) tool.Verdict {
	named := func(list func(source) []string, c spoken) bool {
		for _, f := range from {
			for _, rule := range list(f) {
				if rule == "*" || c.words == strings.TrimSuffix(rule, ":*") || strings.HasPrefix(c.words, strings.TrimSuffix(rule, ":*")+" ") {
					return true
				}
			}
		}
		return false
	}
	covered := func(c spoken) bool {
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
	everything := slices.ContainsFunc(from, func(f source) bool { return slices.Contains(f.allow, "*") })
	denied, asked, allHarmless, allAllowed := false, false, readOnly && !s.oddness, !s.oddness || everything
	for _, c := range s.all {
		denied = denied || named(func(f source) []string { return f.deny }, c)
		asked = asked || named(func(f source) []string { return f.ask }, c)
		allHarmless = allHarmless && c.harmless
		allAllowed = allAllowed && (c.harmless && readOnly || covered(c))
	}
	switch {
	case denied:
		return tool.Deny
	case m == permission.Plan && !allHarmless:
		return tool.Deny
	case asked:
		return tool.Ask
	case allAllowed || allHarmless || m == permission.Yolo:
		return tool.Allow
	}
	return tool.Ask
}

// Every order of rules, from every source, at every depth: the engine says what the order says. Who wrote a rule makes no
// difference, for the lists add up.
func TestOrderOfRules(t *testing.T) {
	rules := []string{
		"ls", "ls -la", "cat:*", "cargo test", "cargo:*", "git push", "git push origin", "rm", "rm x", "make", "make all", "pwd", "wc:*",
		"nohup:*", "env:*", "setsid:*", "bash:*", "bash -c:*", "timeout:*", "nice:*", "echo:*", "nothing:*", "*",
	}
	some := rapid.SliceOfN(rapid.SampledFrom(rules), 0, 2)
	many := rapid.SliceOfN(rapid.SampledFrom(rules), 0, 5)
	draw := rapid.Custom(func(t *rapid.T) source {
		return source{many.Draw(t, "allow"), some.Draw(t, "ask"), some.Draw(t, "deny")}
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
		s := speak(t, rapid.IntRange(0, 4).Draw(t, "depth"))
		from := rapid.SliceOfN(draw, 3, 3).Draw(t, "user, project, flags")
		mode := rapid.SampledFrom(permission.Modes()).Draw(t, "mode")
		readOnly := rapid.Bool().Draw(t, "read-only approval")
		want := judgeSlowly(s, from, mode, readOnly)
		for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
			var allow, ask, deny []string
			for _, i := range order {
				allow, ask, deny = append(allow, wrap(from[i].allow)...), append(ask, wrap(from[i].ask)...), append(deny, wrap(from[i].deny)...)
			}
			d, why := permission.Check(calmWorld(), parse(t, allow, ask, deny), mode, permission.Options{NoReadOnly: !readOnly}, commandRequest(s.line))
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
