package permission

import (
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/shellwords"
	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/permission/shell/match"
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
		if len(narrow) > mostOffered {
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

// mostOffered is the maximum number of rules in an offer: users don't read more before they choose "always".
const mostOffered = 32

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
