//go:build unix

package permission_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// What is found out about one command of a line is used for those equal to it. So a list of lines must come to what the
// strictest of them comes to alone, in whatever order and however often each stands in it.
func TestTogetherAsAlone(t *testing.T) {
	var lines []string
	for _, l := range someLines(t) {
		// Only what leaves the shell as it was, and ends where its line ends.
		first := strings.Trim(strings.Fields(l + " x")[0], "[")
		if !strings.ContainsAny(first, "*?[~") && !strings.ContainsAny(l, "\n#\\`") && !strings.Contains(l, "cd") && !strings.Contains(l, "<<") && !strings.Contains(l, "()") &&
			!slices.ContainsFunc([]string{"pushd", "popd", "command", "builtin", "eval", "source", "$", ". ", "exec", "alias", "function", "trap", "mapfile", "readarray", "shopt", "set ", "enable", "HOME", "PATH", "PWD"}, func(s string) bool { return strings.Contains(l, s) }) &&
			!tool.Hidden(l) && alone(l, permission.Rules{}, permission.Yolo) == tool.Allow {
			lines = append(lines, l)
		}
	}
	slices.Sort(lines)
	if len(lines) < 600 {
		t.Fatalf("only %d lines are left", len(lines))
	}
	list := rapid.SliceOfN(rapid.SampledFrom(somePatterns), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.SliceOfN(rapid.SampledFrom(lines), 1, 4).Draw(t, "lines")
		rules := parse(t, list.Draw(t, "allow"), list.Draw(t, "ask"), list.Draw(t, "deny"))
		mode := rapid.SampledFrom(permission.Modes()).Draw(t, "mode")
		want := tool.Allow
		for _, l := range few {
			want = min(want, alone(l, rules, mode))
		}
		many := append(slices.Clone(few), rapid.SliceOfN(rapid.SampledFrom(few), 0, 8).Draw(t, "again")...)
		many = rapid.Permutation(many).Draw(t, "order")
		if got := alone(strings.Join(many, "\n"), rules, mode); got != want {
			t.Fatalf("%s: %v, alone %v", strings.Join(many, "\n"), got, want)
		}
	})
}

func alone(line string, rules permission.Rules, m permission.Mode) tool.Verdict {
	d, _ := permission.Check(calmWorld(), rules, m, permission.Options{}, commandRequest(line))
	return d.Verdict
}
