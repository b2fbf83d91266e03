package permission

import (
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
	e.explain = true
	var out []Reading
	for _, a := range r.Access {
		if a.Verb != tool.Execs {
			continue
		}
		for _, c := range e.command(&r, a).commands {
			if c.Text != "" {
				out = append(out, c)
			}
		}
	}
	return out
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
