package slash

import (
	"slices"
	"testing"

	"github.com/adze-dev/adze/builtin"
)

// A headless start lists the names of all commands: no skill is read for it.
func TestNamesReadNoSkills(t *testing.T) {
	s, _ := newDesk(t).open(t, nil)
	read := 0
	s.Definitions.Skills = append(s.Definitions.Skills, builtin.Skill{Name: "pdf", About: func() (string, bool) { read++; return "d", true }})
	c := New(s, 0)
	if names := c.Names(); !slices.Contains(names, "pdf") || !slices.Contains(names, "help") || read > 0 {
		t.Errorf("%q, %d skills read", names, read)
	}
	if c.List(); read != 1 {
		t.Errorf("%d skills read for the list", read)
	}
}
