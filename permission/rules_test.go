//go:build unix

package permission_test

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/internal/bashlab"
	"github.com/adze-dev/adze/tool"
)

// readRules reads rules.txt: verdict, tab, rules, tab, command. Rules are separated by blanks-and-semicolons, each with
// + (allow), ? (ask) or - (deny) in front; @MODE is a mode, % leaves the read-only approval out, . is nothing.
func readRules(t testing.TB) []example {
	t.Helper()
	var out []example
	for _, l := range bashlab.ReadLines(t, "testdata/rules.txt") {
		n := l.Number
		parts := strings.SplitN(l.Text, "\t", 3)
		if len(parts) != 3 {
			t.Fatalf("rules.txt:%d: not three columns", n)
		}
		e := example{line: n, command: parts[2], mode: permission.Default}
		switch parts[0] {
		case "allow":
			e.verdict = tool.Allow
		case "ask":
			e.verdict = tool.Ask
		case "deny":
			e.verdict = tool.Deny
		default:
			t.Fatalf("rules.txt:%d: verdict %q", n, parts[0])
		}
		lists := map[byte][]string{}
		for _, r := range strings.Split(parts[1], " ; ") {
			switch r[0] {
			case '@':
				e.mode = permission.Mode(r[1:])
			case '%':
				e.alone = true
			case '.':
			default:
				lists[r[0]] = append(lists[r[0]], r[1:])
			}
		}
		var err error
		e.rules, _, err = permission.ParseRules(lists['+'], lists['?'], lists['-'])
		if err != nil {
			t.Fatalf("rules.txt:%d: %v", n, err)
		}
		out = append(out, e)
	}
	return out
}

func TestRules(t *testing.T) {
	for _, e := range readRules(t) {
		d, why := permission.Check(calmWorld(), e.rules, e.mode, permission.Options{NoReadOnly: e.alone}, commandRequest(e.command))
		if d.Verdict != e.verdict {
			t.Errorf("rules.txt:%d: %s: %v, want %v\n\t%s", e.line, e.command, d.Verdict, e.verdict, strings.Join(why, "\n\t"))
		}
	}
}
