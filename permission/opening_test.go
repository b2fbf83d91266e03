//go:build unix

package permission_test

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// A command that writes to what its sandbox protects requires approval in every mode, also in the one that otherwise
// asks about nothing, unless a rule for that path allows it.
func TestOpeningTheSandbox(t *testing.T) {
	exec, config := tool.Access{Verb: tool.Execs, Target: "git config a.b c"}, tool.Access{Verb: tool.Writes, Target: root + "/.git/config"}
	hooks := tool.Access{Verb: tool.Writes, Target: root + "/.github/workflows/"}
	for _, c := range []struct {
		mode   permission.Mode
		allow  []string
		access []tool.Access
		want   tool.Verdict
		offer  string
	}{
		{permission.Plan, nil, []tool.Access{exec, config}, tool.Deny, ""},
		{permission.Default, nil, []tool.Access{exec, config}, tool.Ask, "Shell(git config:*)\nEdit(/.git/config)"},
		{permission.Default, []string{"Shell(git config:*)"}, []tool.Access{exec, config}, tool.Ask, "Edit(/.git/config)"},
		{permission.AutoEdit, nil, []tool.Access{exec, config}, tool.Ask, "Shell(git config:*)\nEdit(/.git/config)"},
		{permission.Yolo, nil, []tool.Access{exec, config}, tool.Ask, "Edit(/.git/config)"},
		{permission.Yolo, nil, []tool.Access{exec, config, hooks}, tool.Ask, "Edit(/.git/config)\nEdit(/.github/workflows/**)"},
		{permission.Yolo, nil, []tool.Access{config}, tool.Allow, ""}, // a file tool
		{permission.Yolo, []string{"Edit(/.git/config)"}, []tool.Access{exec, config}, tool.Allow, ""},
		{permission.Default, []string{"Shell(git config:*)", "Edit(/.git/config)"}, []tool.Access{exec, config}, tool.Allow, ""},
	} {
		p := permission.New(world(), c.mode)
		rules, _, err := permission.ParseRules(c.allow, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.SetRules(rules)
		d := p.Judge(request(c.access...))
		if offer := strings.Join(d.Offer, " | "); d.Verdict != c.want || c.offer != "" && !strings.Contains(offer, c.offer) {
			t.Errorf("%s %v: %v, %q: %s", c.mode, c.allow, d.Verdict, offer, d.Why())
		}
		if c.mode == permission.Yolo && c.want == tool.Ask && (d.Cause.Kind != tool.BySandbox || !strings.Contains(d.Remedy("--yolo"), "Edit(/.git/config)") || strings.Contains(d.Remedy("--yolo"), "--yolo")) {
			t.Errorf("%+v: %s", d.Cause, d.Remedy("--yolo"))
		}
	}
}
