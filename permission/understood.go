package permission

import (
	"strings"
	"time"

	"github.com/adze-dev/adze/tool"
)

// Understood is what a request's commands were read as, one line a simple command, made visible: what the rules are
// held against, for a person to compare with the line itself. It is empty where the reading adds nothing to the line,
// and where the line cannot be read.
func (p *Policy) Understood(r tool.Request) []string {
	e := p.now()
	e.deadline = time.Now().Add(time.Second) // a user waits for it, and nothing is decided by it
	var lines []string
	for _, a := range r.Access {
		if a.Verb != tool.Execs {
			continue
		}
		script := e.read(a.Target, e.directory(&r), e.world.Home)
		if script.err != nil {
			continue
		}
		read := script.Understood()
		if len(read) == 1 && read[0] == strings.TrimSpace(a.Target) {
			continue
		}
		for _, line := range read {
			lines = append(lines, visible(line))
		}
	}
	return lines
}
