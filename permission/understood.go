package permission

import (
	"time"

	"github.com/adze-dev/adze/tool"
)

// Reading is a simple command of a request: how it was read, and what decided about it.
type Reading struct {
	// Text is the command made visible: its words after quote removal, what it opens, and which command runs it where that is
	// not the shell. Rules are compared with it.
	Text string
	// Why is the rule or the table that decided: "read-only", "make is not on the read-only list", "deny rule Shell(rm:*)".
	Why string

	line string // of an explanation
}

// Understood returns what a request's commands were read as, for a user to compare with the line itself, and what the policy says
// about each, with the rules of the session. It is empty where a line can't be read.
func (p *Policy) Understood(r tool.Request) []Reading {
	e := p.now()
	e.explain = true
	e.deadline = time.Now().Add(time.Second) // a user waits for it, and nothing is decided by it
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
