package permission

import (
	"time"

	"github.com/adze-dev/adze/tool"
)

// Reading is a simple command of a request: how it was parsed, and its verdict.
type Reading struct {
	// Text is the command with invisible characters shown: its words after quote removal, its redirections, and the command
	// that runs it if that isn't the shell. Rules are compared with it.
	Text string
	// Why is the rule or the table that decided: "read-only", "make is not on the read-only list", "deny rule Shell(rm:*)".
	Why string

	line string // for an explanation
}

// Understood returns the commands of a request as parsed, for a user to compare with the line itself, and the policy's
// verdict on each, with the rules of the session. It is empty for a line that can't be parsed.
func (p *Policy) Understood(r tool.Request) []Reading {
	e := p.now()
	e.explain = true
	e.deadline = time.Now().Add(time.Second) // a user waits for it, and it decides nothing
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
