//go:build unix

package permission_test

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/serial"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// What bash would only print, cmd, dash and busybox run: cmd deleted files, in plan mode too. A command that bash doesn't run
// is never auto-approved, tried, or covered by a rule on its words.
func TestOtherShell(t *testing.T) {
	serial.Test(t)
	by := func(shell, line string) tool.Request {
		r := commandRequest(line)
		r.Confirm = tool.Command{Line: line, Directory: root, Shell: shell}
		return r
	}
	for _, line := range []string{
		"ls", "echo 'hi & del victim.txt & rem '", `echo hi\& del victim.txt`, `echo "x" # & del victim.txt`, "echo 'hi > made.txt '", `type C:\Users\me\.ssh\id_rsa`,
		"[[ a > p3 ]]", `echo $'a\'; touch p1 #'`, "git status", "make test", "date",
	} {
		for _, shell := range []string{"cmd", "sh", "busybox", "zsh", "unknown"} {
			for _, w := range []permission.World{plainWorld(), in(permission.Overlay, plainWorld())} {
				for mode, want := range map[permission.Mode]tool.Verdict{
					permission.Plan: tool.Deny, permission.Default: tool.Ask, permission.AutoEdit: tool.Ask, permission.Yolo: tool.Allow,
				} {
					for _, allow := range [][]string{nil, {"Shell(ls)", "Shell(make test)", "Shell(date:*)", "Shell(echo:*)", "Shell(git:*)", "Read(//**)"}} {
						d := policy(t, w, mode, allow, nil, nil).Judge(by(shell, line))
						if d.Verdict != want || d.Try || len(d.Grant) > 0 || len(d.Offer) > 0 || want != tool.Allow && !strings.Contains(d.Reason, "runs with "+shell+", not bash") {
							t.Errorf("%s by %s in %s mode: %v, try %v, grant %v, offer %q: %s", line, shell, mode, d.Verdict, d.Try, d.Grant, d.Offer, d.Reason)
						}
					}
				}
			}
		}
	}
	for _, c := range []struct {
		line             string
		allow, ask, deny string
		mode             permission.Mode
		want             tool.Verdict
	}{
		{"ls", "Shell", "", "", permission.Default, tool.Allow}, // whatever it does
		{"ls", "Shell", "", "", permission.Plan, tool.Deny},
		{"ls", "Shell", "", "Shell(rm)", permission.Default, tool.Ask}, // it may be another command
		{"rm x", "Shell", "", "Shell(rm)", permission.Yolo, tool.Deny},
		{"ls && rm x", "", "", "Shell(rm)", permission.Yolo, tool.Deny},
		{"ls", "", "", "Shell(rm)", permission.Yolo, tool.Ask},
		{"ls 'x", "", "", "Shell(rm)", permission.Yolo, tool.Deny}, // can't be read
		{"ls 'x", "", "", "", permission.Yolo, tool.Ask},
		{"cat .env", "", "", "Read(.env)", permission.Yolo, tool.Deny},
		{"cat x", "", "", "Read(.env)", permission.Yolo, tool.Ask},
		{"make", "Shell", "Shell(make)", "", permission.Default, tool.Ask},
		{"ls", "Shell", "Shell(make)", "", permission.Yolo, tool.Ask},
	} {
		d := policy(t, plainWorld(), c.mode, some(c.allow), some(c.ask), some(c.deny)).Judge(by("sh", c.line))
		if d.Verdict != c.want {
			t.Errorf("%+v: %v: %s", c, d.Verdict, d.Why())
		}
	}
	core := readCore(t, "Shell(ls)").Policy(plainWorld())
	if d := core(by("cmd", "ls")); d.Verdict != tool.Deny {
		t.Errorf("the list of tools allows a line of cmd: %v", d.Verdict)
	}
}
