package shell

import (
	"strings"
)

// Understood says what a command runs: its words after quote removal, what it opens, and which command runs it where that is
// not the shell. It is for users who are asked, and shows what rules are compared with.
func (c *Command) Understood() string {
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
		parts = append(parts, "(run by "+c.By.base()+")")
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}
