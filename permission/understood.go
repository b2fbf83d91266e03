package permission

import (
	"cmp"
	"slices"
	"strings"

	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/tool"
)

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
