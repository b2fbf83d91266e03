package shell

import "strings"

// Understood says what a script would run, one line a command: its words after quote removal, what it opens, and
// which command runs it where that is not the shell. It is for people who are asked, and shows what rules are held
// against.
func (s *Script) Understood() []string {
	var lines []string
	for _, c := range s.Commands {
		if !c.MayRun {
			lines = append(lines, c.understood())
		}
	}
	return lines
}

func (c *Command) understood() string {
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
