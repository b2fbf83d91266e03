package permission

import (
	"strings"

	"github.com/adze-dev/adze/tool"
)

// Explanation is why a request was not simply done, in parts for a front end to put together.
type Explanation struct {
	Reason string   // what it touches, and which rule or mode decided
	Person bool     // only a person may say yes: no flag and no rule does
	Flags  []string // of the modes that would allow it, strictest first
}

// Remedy says what would make the question unnecessary; "" if nothing would.
func (x Explanation) Remedy() string {
	switch {
	case x.Person:
		return "only a person may say yes to this, in a terminal; go on without it, or say in your answer what you would ask"
	case len(x.Flags) > 0:
		return strings.Join(x.Flags, " or ") + " would allow it"
	}
	return ""
}

// String is the reason and the remedy in one line.
func (x Explanation) String() string {
	switch remedy := x.Remedy(); {
	case remedy == "":
		return x.Reason
	case x.Reason == "":
		return remedy
	default:
		return x.Reason + "; " + remedy
	}
}

// Explain says why r was decided as it was, for where nobody can be asked, and what would have allowed it.
func (p *Policy) Explain(r tool.Request, d tool.Decision) Explanation {
	x := Explanation{Reason: d.Why()}
	switch {
	case d.Verdict == tool.Allow:
	case r.MustAsk:
		x.Person = true
	default:
		x.Flags = p.now().allowing(r)
	}
	return x
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

// Check judges a request and says why, sentence by sentence: the reason, what was found of each simple command, and the
// smallest rule that would allow it. It changes nothing and remembers nothing.
func Check(w World, rules Rules, m Mode, o Options, r tool.Request) (tool.Decision, []string) {
	e := engine{world: w.filled(), mode: m, noReadOnly: o.NoReadOnly, explain: true}.begin()
	e.rules = rules.in(e.world)
	d, found := e.judge(r)
	why := []string{d.Why()}
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
