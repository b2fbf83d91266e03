package permission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Every flag of every command that may run unasked is tried out, with all sorts of values and operands.
func TestEveryFlagIsHarmless(t *testing.T) {
	t.Parallel()
	b := startBox(t)
	p := permission.New(calmWorld(), permission.Default)
	ran, i := 0, 0
	every := oneIn(10)
	if share() < 0.1 {
		every = 300
	}
	for _, name := range vocabulary() {
		if !inBox(strings.Fields(name)[0]) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, flag := range flagsByCommand()[name] {
				for _, line := range uses(name, flag) {
					if i++; i%every != 0 || p.Judge(commandRequest(line)).Verdict != tool.Allow || slow(line) {
						continue
					}
					ran++
					if e := b.run(t, order{Command: line, Unasked: true}); e.harm() != "" {
						t.Errorf("%q: %s", line, e.harm())
					}
				}
			}
		})
	}
	t.Logf("%d uses of flags run", ran)
}

func vocabulary() []string {
	var names []string
	for name := range flagsByCommand() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// uses are command lines that hold a flag, with its value in every way it may be written.
func uses(name, flag string) []string {
	flags := []string{flag}
	if base, _, found := strings.Cut(flag, " VALUE"); found || strings.Contains(flag, "[") {
		base, _, _ = strings.Cut(base, "[")
		flags = nil
		for _, v := range []string{"1", "x", "./evil.sh"} {
			flags = append(flags, base+" "+v)
			if strings.HasPrefix(base, "--") {
				flags = append(flags, base+"="+v)
			} else {
				flags = append(flags, base+v)
			}
		}
	}
	var lines []string
	for _, f := range flags {
		for _, operands := range []string{"", " README.md x", " hello README.md", " list"} {
			lines = append(lines, name+" "+f+operands)
		}
		lines = append(lines, name+" x "+f, name+" "+f+" < README.md")
	}
	return lines
}
