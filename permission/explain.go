package permission

import (
	"github.com/adze-dev/adze/tool"
)

// Explain is why r was decided as it was and what would allow it, in one line for users.
func (p *Policy) Explain(r tool.Request, d tool.Decision) string {
	why, remedy := d.Why(), d.Remedy(p.Flags(r)...)
	if why != "" && remedy != "" {
		return why + ". " + remedy
	}
	return why + remedy
}

// Flags are the command-line flags that would allow r, strictest first: none where the approval mode did not decide, and
// never --yolo, which allows everything else too.
func (p *Policy) Flags(r tool.Request) []string {
	e := p.now()
	if d, _ := e.judge(r); r.MustAsk || d.Verdict == tool.Allow {
		return nil
	}
	var flags []string
	for _, m := range Modes() {
		if e.mode = m; m == Yolo {
			continue
		}
		if d, _ := e.judge(r); d.Verdict == tool.Allow {
			flags = append(flags, "--approval-mode "+m.String())
		}
	}
	return flags
}

// Options of a check.
type Options struct {
	NoReadOnly bool // ignore the built-in read-only list, so that only rules allow commands
}

// Check judges a request and says why, line by line: the reason, the verdict on each simple command, and the narrowest
// rule that would allow it. It changes nothing and remembers nothing.
func Check(w World, rules Rules, m Mode, o Options, r tool.Request) (tool.Decision, []string) {
	e := engine{world: w.filled(), mode: m, noReadOnly: o.NoReadOnly, explain: true}.begin()
	e.rules = rules.in(e.world)
	d, found := e.judge(r)
	why := []string{d.Why()}
	for _, j := range found {
		if j.held {
			why[0] += ", relying on the sandbox to enforce reads"
		}
		why = append(why, j.lines...)
	}
	if d.Verdict == tool.Ask {
		d.Offer = e.offers(r, found)
		if remedy := d.Remedy(); remedy != "" {
			why = append(why, remedy)
		}
	}
	return d, why
}
