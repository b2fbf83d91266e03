//go:build unix

package permission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// What a user is shown about a command names the rule or table behind each part of it, also a rule of the session; it is what
// permission check shows.
func TestUnderstood(t *testing.T) {
	p := permission.New(world(), permission.Default)
	rules, _, err := permission.ParseRules(nil, nil, []string{"Shell(rm:*)"})
	if err != nil {
		t.Fatal(err)
	}
	p.SetRules(rules)
	exec := func(line string) tool.Request { return request(tool.Access{Verb: tool.Execs, Target: line}) }
	first := exec("make test")
	d := p.Judge(first)
	if len(d.Offer) == 0 || !p.Remember(first, d.Offer[0]) {
		t.Fatalf("no offer: %+v", d)
	}
	r := exec(`echo hi && make test; r\m x | xargs git push`)
	want := []permission.Reading{
		{Text: "echo hi", Why: "read-only"},
		{Text: "make test", Why: "make is not on the read-only list; allow rule Shell(make test:*) in this session"},
		{Text: "rm x", Why: "deny rule Shell(rm:*)"},
		{Text: "xargs git push", Why: "xargs is not on the read-only list"},
		{Text: "git push … (run by xargs)", Why: "it is run by xargs"},
	}
	got := p.Understood(r)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(permission.Reading{})); diff != "" {
		t.Error(diff)
	}
	lines := strings.Join(p.Explain(r, p.Judge(r)), "\n")
	for _, c := range want[:3] {
		if !strings.Contains(lines, c.Why) {
			t.Errorf("the explanation lacks %q:\n%s", c.Why, lines)
		}
	}
	if got := p.Understood(exec("echo 'unclosed")); got != nil {
		t.Errorf("a line that can't be read: %v", got)
	}
}
