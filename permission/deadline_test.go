//go:build unix

package permission_test

import (
	"strings"
	"testing"
	"time"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// sleepy is a disk that takes its time over one sort of question.
type sleepy struct {
	calm
	over string
}

func (s sleepy) wait(over string) {
	if s.over == over {
		time.Sleep(20 * time.Millisecond)
	}
}

func (s sleepy) Resolve(p string) string        { s.wait("resolve"); return s.calm.Resolve(p) }
func (s sleepy) Glob(p string) ([]string, bool) { s.wait("glob"); return s.calm.Glob(p) }
func (s sleepy) Git(p string) (string, bool)    { s.wait("git"); return s.calm.Git(p) }
func (s sleepy) Secret(p string, l permission.Search) string {
	s.wait("secret")
	return s.calm.Secret(p, l)
}

// A command for which 50 ms are not enough is not judged, whatever the disk takes its time over.
// It is denied where a rule denies any command, and else asked about, whatever rules and mode would have allowed.
func TestTooSlowIsNotJudged(t *testing.T) {
	numbered := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "N", string(rune('a'+i%26))+strings.Repeat("x", i/26)))
		}
		return b.String()
	}
	for name, test := range map[string]struct{ over, line string }{
		"resolving":           {"resolve", "cat" + numbered(" N", 8)},
		"resolving in a list": {"resolve", numbered("cat N; ", 8) + "true"},
		"resolving, unknown":  {"resolve", "mytool" + numbered(" N", 8)},
		"patterns":            {"glob", "cat" + numbered(" N*.go", 8)},
		"repositories":        {"git", numbered("git -C N status; ", 8) + "true"},
		"searches":            {"secret", "grep -r x" + numbered(" N", 8)},
	} {
		t.Run(name, func(t *testing.T) {
			world := hurriedWorld()
			world.Disk = func() permission.Disk { return sleepy{over: test.over} }
			for _, c := range []struct {
				allow, ask, deny string
				mode             permission.Mode
				want             tool.Verdict
			}{
				{"Shell(*)", "Shell(nothing)", "", permission.Yolo, tool.Ask},
				{"Shell(*)", "", "Read(nothing)", permission.Yolo, tool.Ask},
				{"Shell(*)", "", "Shell(nothing)", permission.Yolo, tool.Deny},
				{"", "", "", permission.Plan, tool.Deny},
			} {
				began := time.Now()
				rules := parse(t, some(c.allow), some(c.ask), some(c.deny))
				d, why := permission.Check(world, rules, c.mode, permission.Options{}, commandRequest(test.line))
				if d.Verdict != c.want || !strings.Contains(d.Reason, "the command can't be checked: the command takes too long") || len(d.Offer) > 0 || len(d.Grant) > 0 {
					t.Errorf("allow %s, ask %s, deny %s: %v, want %v: %.200s", c.allow, c.ask, c.deny, d.Verdict, c.want, why)
				}
				if took := time.Since(began); took > 30*time.Second { // a hang, not a busy machine
					t.Errorf("it took %v", took)
				}
			}
		})
	}
}

func some(rule string) []string {
	if rule == "" {
		return nil
	}
	return []string{rule}
}
