//go:build unix

package permission_test

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// The sandbox hides secrets that git doesn't track and files under deny rules, unless a rule allows them.
func TestHides(t *testing.T) {
	p := policy(t, world(), permission.Default, []string{"Read(/conf/.env)", "Read(**/*.go)", "Read"}, []string{"Read(/asked)"}, []string{"Read(/private/**)", "Read(**/*.csv)", "Edit(/edit)", "Shell(x)", "Read(/logs/)"})
	for _, tt := range []struct {
		path    string
		tracked bool
		want    bool
	}{
		{"/README.md", false, false}, {"/.env", false, true}, {"/.env", true, false}, {"/a/b/server.pem", false, true}, {"/a/b/server.pem", true, false}, {"/conf/.env", false, false}, {"/conf2/.env", false, true},
		{"/.ssh/config", false, true}, {"/private/x", false, true}, {"/private/x/y", true, true}, {"/private", true, true}, {"/privates", false, false}, {"/a/b.csv", true, true}, {"/edit", false, false}, {"/asked", false, true},
		{"/logs/app.log", false, true}, {"/logs", false, true}, {"/main.go", false, false},
	} {
		asked := false
		if got := p.Hides(root+tt.path, func() bool { asked = true; return tt.tracked }); got != tt.want {
			t.Errorf("%s, tracked %v: %v, want %v", tt.path, tt.tracked, got, tt.want)
		}
		if strings.HasSuffix(tt.path, ".md") && asked {
			t.Errorf("%s: looks up whether it is tracked", tt.path)
		}
	}
	if n := testing.AllocsPerRun(100, func() { p.Hides(root+"/src/deep/main_test.go", nil) }); n > 0 {
		t.Errorf("%v allocations for an ordinary name", n)
	}
	if whole := policy(t, world(), permission.Default, nil, nil, []string{"Read"}); !whole.Hides(root+"/README.md", nil) {
		t.Error("deny Read: README.md isn't hidden")
	}
}

// The version of the rules changes with rules and remembered approvals, and a remembered path isn't hidden.
func TestHidesChanges(t *testing.T) {
	p := permission.New(plainWorld(), permission.Default)
	v := p.RulesVersion()
	p.SetRules(permission.Rules{})
	if p.RulesVersion() == v {
		t.Error("SetRules: the version stays")
	}
	r := commandRequest("cat .env")
	d := p.Judge(r)
	if d.Verdict != tool.Ask || len(d.Offer) == 0 || !p.Hides(root+"/.env", nil) {
		t.Fatalf("%v, offers %v", d.Verdict, d.Offer)
	}
	v = p.RulesVersion()
	if !p.Remember(r, d.Offer[0]) || p.RulesVersion() == v || p.Hides(root+"/.env", nil) {
		t.Errorf("after %s: version %d, hidden %v", d.Offer[0], p.RulesVersion(), p.Hides(root+"/.env", nil))
	}
}

// A command that writes to a path that its sandbox protects requires approval in every mode, also in yolo mode, unless a
// rule allows that path.
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
		{permission.Default, nil, []tool.Access{exec, config}, tool.Ask, "Shell(git config a.b c)\nEdit(/.git/config)"},
		{permission.Default, []string{"Shell(git config:*)"}, []tool.Access{exec, config}, tool.Ask, "Edit(/.git/config)"},
		{permission.AutoEdit, nil, []tool.Access{exec, config}, tool.Ask, "Shell(git config a.b c)\nEdit(/.git/config)"},
		{permission.Yolo, nil, []tool.Access{exec, config}, tool.Ask, "Edit(/.git/config)"},
		{permission.Yolo, nil, []tool.Access{exec, config, hooks}, tool.Ask, "Edit(/.git/config)\nEdit(/.github/workflows/**)"},
		{permission.Yolo, nil, []tool.Access{config}, tool.Allow, ""}, // a file tool
		{permission.Yolo, []string{"Edit(/.git/config)"}, []tool.Access{exec, config}, tool.Allow, ""},
		{permission.Default, []string{"Shell(git config:*)", "Edit(/.git/config)"}, []tool.Access{exec, config}, tool.Allow, ""},
	} {
		p := policy(t, world(), c.mode, c.allow, nil, nil)
		d := p.Judge(request(c.access...))
		if offer := strings.Join(d.Offer, " | "); d.Verdict != c.want || c.offer != "" && !strings.Contains(offer, c.offer) {
			t.Errorf("%s %v: %v, %q: %s", c.mode, c.allow, d.Verdict, offer, d.Why())
		}
		if c.mode == permission.Yolo && c.want == tool.Ask && (d.Cause.Kind != tool.BySandbox || !strings.Contains(d.Remedy("--yolo"), "Edit(/.git/config)") || strings.Contains(d.Remedy("--yolo"), "--yolo")) {
			t.Errorf("%+v: %s", d.Cause, d.Remedy("--yolo"))
		}
	}
}

// A command may be tried if only the table of modes asks or denies, and no rule.
func TestTry(t *testing.T) {
	always := [4]bool{true, true, true, false} // plan, default, auto-edit, yolo
	never := [4]bool{}
	for name, tt := range map[string]struct {
		access           []tool.Access
		allow, ask, deny []string
		want             [4]bool
	}{
		"a command":                        {access: []tool.Access{execs("make")}, want: always},
		"several":                          {access: []tool.Access{execs("make && npm test > log")}, want: always},
		"beside what is read-only":         {access: []tool.Access{execs("cat a | make")}, want: always},
		"other rules":                      {access: []tool.Access{execs("make")}, allow: []string{"Shell(git:*)"}, ask: []string{"Shell(npm:*)"}, deny: []string{"Shell(rm:*)"}, want: always},
		"what a sandbox protects":          {access: []tool.Access{execs("git checkout x"), writes(root + "/.github/workflows/a.yml")}, want: always},
		"a read-only command":              {access: []tool.Access{execs("ls")}, want: always},
		"a command that names a secret":    {access: []tool.Access{execs("cat .env")}, want: never},
		"an allow rule":                    {access: []tool.Access{execs("make")}, allow: []string{"Shell(make)"}, want: [4]bool{true, false, false, false}},
		"an ask rule":                      {access: []tool.Access{execs("make")}, ask: []string{"Shell(make)"}, want: never},
		"an ask rule for all":              {access: []tool.Access{execs("make")}, ask: []string{"Shell"}, want: never},
		"a deny rule":                      {access: []tool.Access{execs("make")}, deny: []string{"Shell(make)"}, want: never},
		"a deny rule in a wrapper":         {access: []tool.Access{execs("env make")}, deny: []string{"Shell(make)"}, want: never},
		"a deny rule that may match":       {access: []tool.Access{execs("$x install")}, deny: []string{"Shell(rm)"}, want: never},
		"a path that a rule denies":        {access: []tool.Access{execs("sed -i s/a/b/ x/y")}, deny: []string{"Edit(/x/**)"}, want: always},
		"a path that a rule asks about":    {access: []tool.Access{execs("sed -i s/a/b/ x/y")}, ask: []string{"Edit(/x/**)"}, want: always},
		"a path that a rule may deny":      {access: []tool.Access{execs("mytool x/y")}, deny: []string{"Edit(/x/**)"}, want: always},
		"a path that a rule may ask about": {access: []tool.Access{execs("mytool x/y")}, ask: []string{"Edit(/x/**)"}, want: always},
		"a protected path that is asked":   {access: []tool.Access{execs("git checkout x"), writes(root + "/.mcp.json")}, ask: []string{"Edit(/.mcp.json)"}, want: never},
		"a deny rule on writing":           {access: []tool.Access{execs("make")}, deny: []string{"Edit(/x/**)"}, want: always},
		"a deny rule on reading":           {access: []tool.Access{execs("make")}, deny: []string{"Read(/x/**)"}, want: always},
		"a deny rule on reading anything":  {access: []tool.Access{execs("make")}, deny: []string{"Read"}, want: never},
		"an ask rule on reading":           {access: []tool.Access{execs("make")}, ask: []string{"Read(/x/**)"}, want: always},
		"a path elsewhere":                 {access: []tool.Access{execs("make -C /data")}, want: never},
		"the network":                      {access: []tool.Access{execs("curl https://example.com")}, want: never},
		"in a directory elsewhere":         {access: []tool.Access{execs("make"), reads("/data/")}, want: never},
		"invisible characters":             {access: []tool.Access{execs("make \u202e")}, want: never},
		"what can't be read":               {access: []tool.Access{execs("make 'x")}, want: never},
		"an edit":                          {access: []tool.Access{writes(root + "/a")}, want: never},
		"an unknown tool":                  {access: []tool.Access{tool.Anything}, want: never},
		"a host":                           {access: []tool.Access{reaches("example.com")}, want: never},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := parse(t, tt.allow, tt.ask, tt.deny)
			r := request(tt.access...)
			r.Declaration = tool.Declaration{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute}
			for i, m := range permission.Modes() {
				p := permission.New(in(permission.Overlay, plainWorld()), m)
				p.SetRules(rules)
				if d := p.Judge(r); d.Try != tt.want[i] || d.Try && d.Verdict == tool.Allow {
					t.Errorf("%s: %v, try is %v", m, d.Verdict, d.Try)
				}
				if d, _ := permission.Check(in(permission.Overlay, plainWorld()), rules, m, permission.Options{}, r); d.Try != tt.want[i] {
					t.Errorf("check in %s: try is %v", m, d.Try)
				}
			}
		})
	}
}

// A directory that a tried command made or deleted is judged like a file in it: protected names require approval.
func TestTriedDirectory(t *testing.T) {
	for path, want := range map[string]verdicts{
		root + "/dist/":    edits,
		root + "/.git/":    changes,
		root + "/.git/x/":  changes,
		"/elsewhere/dist/": changes,
	} {
		r := request(writes(path))
		r.Confirm = tool.Effects{}
		for i, m := range permission.Modes() {
			if d := permission.New(world(), m).Judge(r); d.Verdict != want[i] {
				t.Errorf("%s in %s: %v", path, m, d.Verdict)
			}
		}
	}
	r := request(writes(root + "/dist/"))
	r.Confirm = tool.Effects{}
	d := permission.New(world(), permission.Default).Judge(r)
	if len(d.Offer) == 0 || d.Offer[0] != "Edit(/dist/**)" {
		t.Errorf("the offer is %q", d.Offer)
	}
	p := policy(t, world(), permission.AutoEdit, nil, nil, []string{"Edit(/dist/keep.txt)"})
	if d := p.Judge(r); d.Verdict == tool.Allow {
		t.Error("a directory with a denied file was allowed")
	}
}

// Specifiers in tools.core are compared with the command that was tried, not with its effects.
func TestCoreOfTriedCommand(t *testing.T) {
	judge := readCore(t, "Shell(make:*)").Policy(world())
	r := request(writes(root + "/a"))
	r.Declaration = tool.Declaration{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute}
	for line, want := range map[string]tool.Verdict{"make all": tool.Allow, "npm test": tool.Deny} {
		r.Confirm = tool.Effects{Command: tool.Command{Line: line}}
		if d := judge(r); d.Verdict != want {
			t.Errorf("%s: %v", line, d.Verdict)
		}
	}
	if d := tool.Stricter(permission.New(in(permission.Overlay, plainWorld()), permission.Default).Judge, judge)(tool.Request{
		Declaration: r.Declaration, Invocation: tool.Invocation{Access: []tool.Access{execs("make all")}},
	}); !d.Try {
		t.Error("a covered command isn't tried")
	}
}
