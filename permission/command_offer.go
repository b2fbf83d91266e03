package permission

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/shellwords"
	"github.com/adze-dev/adze/internal/engine/table"
	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/match"
	"github.com/adze-dev/adze/permission/shell/program"
	"github.com/adze-dev/adze/tool"
)

// offers returns rules for the commands of a line that are neither covered nor read-only: one per simple command,
// joined, never one for the whole line. There are a narrow and a wider choice.
func (t *lineVerdict) offers() []string {
	if len(t.Notes) > 0 {
		return nil
	}
	var narrow, wide []string
	for _, s := range t.commands {
		if s.cmd.MayRun || s.covered != nil || s.free {
			continue
		}
		rules, ok := t.judge.rulesFor(s.cmd, s)
		if !ok {
			return nil
		}
		narrow = appendNew(narrow, rules[0]...)
		wide = appendNew(wide, rules[len(rules)-1]...)
		if len(narrow) > maxOffered {
			return nil
		}
	}
	if len(narrow) == 0 {
		return nil
	}
	out := []string{strings.Join(narrow, "\n")}
	if w := strings.Join(wide, "\n"); w != out[0] {
		out = append(out, w)
	}
	return out
}

// maxOffered is the maximum number of rules in an offer: users don't read more before they choose "always".
const maxOffered = 32

func appendNew(list []string, more ...string) []string {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// rulesFor returns the choices for one simple command, narrowest first; each may be several rules. That is a rule with
// exactly its words: further words of nearly every program can write, connect or run another.
func (e *engine) rulesFor(c *bash.Command, s *commandVerdict) (choices [][]string, ok bool) {
	if s.formed && len(s.asks) > 0 { // only its paths require approval
		var reads []string
		for _, f := range s.asks {
			cs := e.world.pathRules("Read", f)
			if f.path == "" || len(cs) == 0 {
				return nil, false
			}
			reads = appendNew(reads, cs[0])
		}
		return [][]string{reads}, true
	}
	argv := c.Argv()
	if !match.IsLiteral(c) || len(argv) == 0 || slices.ContainsFunc(argv, tool.Hidden) {
		return nil, false
	}
	words := quoted(argv)
	if words == "" || slices.Contains(neverOffered, c.Base()) {
		return nil, false
	}
	choices = [][]string{{"Shell(" + words + ")"}}
	if p, ok := prefixOf(argv); ok && len(s.asks) == 0 {
		choices = append(choices, []string{"Shell(" + strings.Join(p.words, " ") + ":*)"})
	}
	return choices, true
}

// quoted writes words as in a rule; "" if a rule can't have them.
func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		if strings.ContainsAny(a, "*\n") {
			return ""
		}
		words[i] = shellwords.Quote(a)
	}
	return strings.Join(words, " ")
}

// neverOffered run their arguments as another user, on another machine or later: no rule on their words limits what
// they do.
var neverOffered = strings.Fields("eval exec sudo doas su ssh xargs parallel script trap alias osascript pwsh " +
	"powershell cmd")

//go:embed prefixes.txt
var prefixesText string

// prefix is a row of prefixes.txt: a command whose further words can't write, connect or run a program.
type prefix struct {
	words   []string
	example string // of further words
}

var prefixes = sync.OnceValue(func() (all []prefix) {
	for _, line := range table.Must(table.Lines(prefixesText, 10)) {
		f := strings.Split(line.Text, " | ")
		all = append(all, prefix{strings.Split(f[0], " "), f[1]})
	}
	return all
})

// prefixOf returns the row for the beginning of a command.
func prefixOf(argv []string) (prefix, bool) {
	for _, p := range prefixes() {
		if len(argv) >= len(p.words) && slices.Equal(argv[:len(p.words)], p.words) {
			return p, true
		}
	}
	return prefix{}, false
}

// Wide returns the allow rules whose further words may write, connect or run a program, such as Shell(git push:*), and
// those for all commands. Permission prompts offered such rules once.
func (p *Policy) Wide(tools []tool.Declaration) []tool.Rule {
	var out []tool.Rule
	for _, u := range p.current().rules.allow {
		runs := u.verb == shelling || slices.ContainsFunc(tools, func(d tool.Declaration) bool {
			return d.Kind == tool.Execute && d.Origin == "" && u.ofTool(&d, true)
		})
		if runs && u.wide() {
			out = append(out, u.cite(false))
		}
	}
	return out
}

// wide reports whether a rule for commands allows words that may write, connect or run a program.
func (r *rule) wide() bool {
	if r.whole || !r.isCommand || r.command.Exact() {
		return r.whole
	}
	words := r.command.Words()
	_, harmless := prefixOf(words)
	return !harmless && !program.RunnerOf(words[0]).Safe
}
