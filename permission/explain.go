package permission

import (
	"slices"

	"github.com/adze-dev/adze/tool"
)

// Explain returns why r was decided this way, for users: the reason, the verdict on each simple command, and what would
// allow it. It includes the rules of the session.
func (p *Policy) Explain(r tool.Request, d tool.Decision) []string {
	e := p.now()
	e.explain = true
	_, found := e.judge(r)
	return explained(d, found, d.Remedy(p.Flags(r)...))
}

// explained returns a decision in lines.
func explained(d tool.Decision, found []judged, remedy string) []string {
	why := d.Why()
	for _, j := range found {
		if j.held {
			why += ", relying on the sandbox to enforce reads"
		}
	}
	lines := []string{why}
	for _, j := range found {
		for _, c := range j.commands {
			lines = append(lines, c.line)
		}
	}
	lines = append(lines, remedy)
	return slices.DeleteFunc(lines, func(l string) bool { return l == "" })
}

// OnlyEdits reports whether r changes only files of the workspace, none of them protected.
func (p *Policy) OnlyEdits(r tool.Request) bool {
	e := p.now()
	writes := false
	for _, a := range r.Access {
		if !a.Changes() {
			continue
		}
		if e.world.look(a).class != insideWrite {
			return false
		}
		writes = true
	}
	return writes
}

// Flags returns the command-line flags that would allow r, strictest first: none if the approval mode did not decide, and
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

// Check judges a request and explains the result, line by line: the reason, the verdict on each simple command, and the
// narrowest rule that would allow it. It changes nothing and remembers nothing.
func Check(w World, rules Rules, m Mode, o Options, r tool.Request) (tool.Decision, []string) {
	e := engine{world: w.filled(), mode: m, noReadOnly: o.NoReadOnly, explain: true}.begin()
	e.rules = rules.in(e.world)
	d, found := e.judge(r)
	remedy := ""
	if d.Verdict == tool.Ask {
		d.Offer = e.offers(r, found)
		remedy = d.Remedy()
	}
	return d, explained(d, found, remedy)
}
