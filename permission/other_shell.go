package permission

import (
	"slices"

	"github.com/adze-dev/adze/tool"
)

// commandOf returns the command of a request, also of one that was tried.
func commandOf(r *tool.Request) tool.Command {
	if f, ok := r.Confirm.(tool.Effects); ok {
		return f.Command
	}
	c, _ := r.Confirm.(tool.Command)
	return c
}

// byOtherShell judges a line that bash doesn't run. Other shells read a line differently: to cmd, ' is no quote, and
// dash doesn't know $'…'. So the line is neither read-only nor covered by a rule on its words, nor tried. Deny rules
// are compared with it as if bash ran it. If there are rules that could be about it, the user decides in every mode.
func (e *engine) byOtherShell(r *tool.Request, a tool.Access, shell string) judged {
	j := e.judgeText(r, a)
	w := e.weigh(r)
	_, ruled := e.rules.on(reading, writing)
	ruled = ruled || len(w.deny) > 0 || len(w.ask) > 0
	all := slices.IndexFunc(w.allow, func(u *rule) bool { return u.whole })
	unread := j.forced && len(j.rules) == 0
	// no rule on words would allow it
	j.class, j.line, j.free, j.try, j.reads = unknown, nil, false, false, nil
	if !unread && (j.verdict == tool.Allow || len(j.rules) == 0) {
		j.note, j.rules = "runs with "+show(shell)+", not bash, so that it can't be checked", nil
	}
	j.forced = j.forced || ruled
	switch table := unknown.verdict(e.mode); {
	case j.verdict == tool.Deny || table == tool.Deny:
		j.verdict = tool.Deny
	case j.forced:
		j.verdict = tool.Ask
	case all >= 0:
		j.verdict, j.rules = tool.Allow, []tool.Rule{w.allow[all].cite(false)}
	default:
		j.verdict = table
	}
	return j
}
