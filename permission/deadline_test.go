//go:build unix

package permission_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/shell/bash"
	"github.com/adze-dev/adze/tool"
)

// sleepy is a disk that takes a time for one sort of question.
type sleepy struct {
	calm
	over string
	time time.Duration
}

func (s sleepy) wait(over string) {
	if s.over == over {
		time.Sleep(s.time) // not synchronization: a slow disk
	}
}

func (s sleepy) Resolve(p string) string        { s.wait("resolve"); return s.calm.Resolve(p) }
func (s sleepy) Glob(p string) ([]string, bool) { s.wait("glob"); return s.calm.Glob(p) }
func (s sleepy) Git(p string) (string, bool)    { s.wait("git"); return s.calm.Git(p) }
func (s sleepy) Secret(p string, l permission.Search) (string, bool) {
	s.wait("secret")
	return s.calm.Secret(p, l)
}

// A command that takes longer than bash.MaxTime to check is not judged, whatever takes the time.
// It is denied if a rule denies any command, and otherwise requires approval, whatever rules and mode would allow.
func TestTooSlowIsNotJudged(t *testing.T) {
	eachSlow(t, bash.MaxTime/4, func(t *testing.T, d tool.Decision, want tool.Verdict) {
		if d.Verdict != want || !strings.Contains(d.Reason, "the command can't be checked: the command takes too long") || len(d.Offer) > 0 || len(d.Grant) > 0 {
			t.Errorf("%v, want %v: %.200s", d.Verdict, want, d.Reason)
		}
	})
}

// Commands on a busy machine used to require approval, because checking them took 50 ms.
func TestSlowIsJudged(t *testing.T) {
	eachSlow(t, 20*time.Millisecond, func(t *testing.T, d tool.Decision, _ tool.Verdict) {
		if strings.Contains(d.Reason, "takes too long") {
			t.Errorf("%v: %.200s", d.Verdict, d.Reason)
		}
	})
}

// eachSlow judges commands with eight questions to a disk that takes the given time for each. want is the verdict for a
// command that can't be checked.
func eachSlow(t *testing.T, each time.Duration, check func(t *testing.T, d tool.Decision, want tool.Verdict)) {
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
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					world := hurriedWorld()
					world.Disk = func() permission.Disk { return sleepy{over: test.over, time: each} }
					rules := parse(t, some(c.allow), some(c.ask), some(c.deny))
					d, _ := permission.Check(world, rules, c.mode, permission.Options{}, commandRequest(test.line))
					check(t, d, c.want)
				})
			})
		}
	}
}

func some(rule string) []string {
	if rule == "" {
		return nil
	}
	return []string{rule}
}
