package permission

import (
	"strings"

	"github.com/adze-dev/adze/tool"
)

// Explain says in one line why r was not simply done, for where nobody can be asked: the reason, and the flags that
// would allow it. Of an allowed call it gives the reason.
func (p *Policy) Explain(r tool.Request, d tool.Decision) string {
	if d.Verdict == tool.Allow {
		return d.Reason
	}
	s := r.Declaration.Name + ": " + d.Reason
	if d.Verdict == tool.Ask {
		s += ", and nobody could be asked"
	}
	if r.MustAsk {
		return s + "; only a person may say yes to this: start adze in a terminal"
	}
	if flags := p.now().allowing(r); len(flags) > 0 {
		s += "; " + strings.Join(flags, " or ") + " would allow it"
	}
	return s
}

// allowing names the flags of the modes that would allow r, strictest first: none where the mode did not decide.
func (e engine) allowing(r tool.Request) []string {
	if d, _ := e.judge(r); d.Verdict == tool.Allow {
		return nil
	}
	var flags []string
	for _, m := range Modes() {
		e.mode = m
		if d, _ := e.judge(r); d.Verdict == tool.Allow {
			flags = append(flags, m.flag())
		}
	}
	return flags
}

// Options of a check.
type Options struct {
	NoReadOnly bool // leave the built-in approval of read-only commands out, so that rules are judged alone
}

// Check judges a request and says why, sentence by sentence: what was found of each access and of each simple command,
// and the smallest rule that would allow it. It changes nothing and remembers nothing.
func Check(w World, rules Rules, m Mode, o Options, r tool.Request) (tool.Decision, []string) {
	e := engine{world: w.filled(), mode: m, noReadOnly: o.NoReadOnly, explain: true}.begin()
	e.rules = rules.in(e.world)
	d, found := e.judge(r)
	why := []string{d.Verdict.String() + ": " + d.Reason}
	for _, j := range found {
		why = append(why, j.lines...)
	}
	if d.Verdict == tool.Ask {
		if d.Offer = e.offers(r, found); len(d.Offer) > 0 {
			why = append(why, "the smallest rule that would allow it: "+strings.Join(SplitOffer(d.Offer[0]), " and "))
		}
	}
	return d, why
}
