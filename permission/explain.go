package permission

import (
	"cmp"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/tool"
)

// Explain returns why r was decided this way, for users: the reason, the verdict on each simple command, and what would
// allow it. It includes the rules of the session.
func (p *Policy) Explain(r tool.Request, d tool.Decision) []string {
	e := p.now()
	_, found := e.judge(r)
	return e.explained(d, found, d.Remedy(p.Flags(r)...))
}

// Word returns what happens to a call: allow, try, ask or deny.
func Word(d tool.Decision) string {
	if d.Try && d.Verdict != tool.Allow {
		return "try"
	}
	return d.Verdict.String()
}

// Happens says in a sentence what happens to a command.
func (p *Policy) Happens(d tool.Decision) string { return p.now().happens(d) }

func (e engine) happens(d tool.Decision) string {
	tries := d.Try && d.Verdict != tool.Allow
	switch {
	case tries && e.world.place() == ReadOnly && e.mode == Plan:
		return "Runs where writes fail; denied if it tries to write"
	case tries && e.world.place() == ReadOnly:
		return "Runs where writes fail; you are asked if it tries to write"
	case tries && e.mode == Plan:
		return "Runs in a trial; changes are discarded"
	case tries && e.mode == AutoEdit:
		return "Runs in a trial; changes in the workspace are kept, you are asked about others"
	case tries:
		return "Runs in a trial; you are asked before changes are kept"
	case d.Verdict == tool.Allow && len(d.Grant) > 0:
		return "Runs; it only reads"
	case d.Verdict == tool.Allow:
		return "Runs as it is"
	case d.Verdict == tool.Ask:
		return "You are asked before it runs"
	}
	return "Denied"
}

// explained returns a decision in lines.
func (e *engine) explained(d tool.Decision, found []judged, remedy string) []string {
	why := d.Why()
	if d.Try && d.Verdict != tool.Allow {
		why, remedy = "", "" // the place decides
	}
	lines := []string{why}
	if slices.ContainsFunc(found, func(j judged) bool { return j.access.Verb == tool.Execs }) {
		lines = []string{e.happens(d), why}
	}
	for _, j := range found {
		for _, c := range j.line.readings() {
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

// Flags returns the command-line flags that would allow r, strictest first: none if the approval mode did not decide,
// and never --yolo, which allows everything else too.
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
	OnlyRules bool // commands that obviously only read require a rule too
}

// Check judges a request and explains the result, line by line: the reason, the verdict on each simple command, and the
// narrowest rule that would allow it. It changes nothing and remembers nothing.
func Check(w World, rules Rules, m Mode, o Options, r tool.Request) (tool.Decision, []string) {
	e := engine{world: w.filled(), mode: m, onlyRules: o.OnlyRules}.begin()
	e.rules = rules.in(e.world)
	d, found := e.judge(r)
	remedy := ""
	if d.Verdict == tool.Ask {
		d.Offer = e.offers(r, found)
		remedy = d.Remedy()
	}
	return d, e.explained(d, found, remedy)
}

// Reading is a simple command of a request: how it was parsed, and its verdict.
type Reading struct {
	// Text is the command with invisible characters shown: its words after quote removal, its redirections, and the
	// command that runs it if that isn't the shell. Rules are compared with it.
	Text string
	// Why is the rule or the table that decided: "read-only", "make is not on the read-only list", "deny rule
	// Shell(rm:*)".
	Why string

	line string // for an explanation
}

// Understood returns the commands of a request as parsed, for a user to compare with the line itself, and the policy's
// verdict on each, with the rules of the session. It is empty for a line that can't be parsed.
func (p *Policy) Understood(r tool.Request) []Reading {
	e := p.now()
	var out []Reading
	for _, a := range r.Access {
		if a.Verb == tool.Execs {
			out = append(out, e.command(&r, a).line.readings()...)
		}
	}
	return slices.DeleteFunc(out, func(c Reading) bool { return c.Text == "" })
}

// readings returns the distinct parts of a line with their verdicts.
func (t *lineVerdict) readings() (all []Reading) {
	if t == nil {
		return nil
	}
	add := func(r Reading) {
		if !slices.Contains(all, r) { // a loop may run it several times
			all = append(all, r)
		}
	}
	for _, n := range t.Notes {
		add(Reading{line: "it " + n.What + ": " + brief(n.Source)})
	}
	for _, s := range t.commands {
		r := Reading{Why: s.why, line: brief(cmp.Or(s.cmd.String(), s.cmd.Source)) + ": " + s.why}
		if !s.cmd.MayRun {
			r.Text = visible(readingOf(s.cmd))
		}
		add(r)
	}
	return all
}

// readingOf says what a command runs: its words after quote removal, what it opens, and which command runs it where
// that is not the shell. It is for users who are asked, and shows what rules are compared with.
func readingOf(c *bash.Command) string {
	parts := []string{c.String()}
	if c.AddsArgs {
		parts = append(parts, "…")
	}
	for _, d := range c.Redirs {
		if d.File {
			parts = append(parts, d.Number+d.Op+" "+d.Target.String())
		}
	}
	if c.By != nil {
		parts = append(parts, "(run by "+c.By.Base()+")")
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}
