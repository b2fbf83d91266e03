package permission

import (
	"strings"
	"testing"
)

// Paths in rules, as each system reads them.
func TestParsePathOn(t *testing.T) {
	for _, c := range []struct{ goos, rule, want string }{
		{"linux", "//etc/x", "/ etc|x"},
		{"linux", "/docs/**", ". docs|**"},
		{"linux", "~/.ssh/**", "~ .ssh|**"},
		{"linux", "C:/x", ". C:|x"},
		{"windows", "//C:/Users/**", "/ C:|Users|**"},
		{"windows", "C:/Users/**", "/ C:|Users|**"},
		{"windows", `C:\Users\**`, "/ C:|Users|**"},
		{"windows", `c:\x`, "/ c:|x"}, // matched without regard to case
		{"windows", "//c/Users/**", "/ c:|Users|**"},
		{"windows", "//c", "/ c:"},
		{"windows", `~\.ssh\**`, "~ .ssh|**"},
		{"windows", "/docs/**", ". docs|**"},
		{"windows", `docs\**`, ". docs|**"},
		{"windows", `\\server\share\**`, "/ server|share|**"},
		{"windows", "//server/share/x", "/ server|share|x"},
		{"windows", "C:x", "error"},
		{"windows", "//", "/ "},
	} {
		p, err := parsePathOn(c.goos, c.rule)
		got := string(p.from) + " " + strings.Join(p.comps, "|")
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%s on %s: %q, want %q", c.rule, c.goos, got, c.want)
		}
	}
}
