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
	if flags := p.allowing(r); len(flags) > 0 {
		s += "; " + strings.Join(flags, " or ") + " would allow it"
	}
	return s
}

// allowing names the flags of the modes that would allow r, strictest first: none where the mode did not decide.
func (p *Policy) allowing(r tool.Request) []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if d, _ := p.judge(r, p.mode, p.remembered); d.Verdict == tool.Allow {
		return nil
	}
	var flags []string
	for _, m := range Modes() {
		if d, _ := p.judge(r, m, p.remembered); d.Verdict == tool.Allow {
			flags = append(flags, m.flag())
		}
	}
	return flags
}
