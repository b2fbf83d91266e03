//go:build unix

package permission_test

import (
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// A command may be tried where the table of modes asks or denies, and nothing else has a say.
func TestTry(t *testing.T) {
	always := [4]bool{true, true, true, false} // plan, default, auto-edit, yolo
	never := [4]bool{}
	for name, tt := range map[string]struct {
		access           []tool.Access
		allow, ask, deny []string
		want             [4]bool
	}{
		"a command":                       {access: []tool.Access{execs("make")}, want: always},
		"several":                         {access: []tool.Access{execs("make && npm test > log")}, want: always},
		"beside what is read-only":        {access: []tool.Access{execs("cat a | make")}, want: always},
		"other rules":                     {access: []tool.Access{execs("make")}, allow: []string{"Shell(git:*)"}, ask: []string{"Shell(npm:*)"}, deny: []string{"Shell(rm:*)"}, want: always},
		"what a sandbox protects":         {access: []tool.Access{execs("git checkout x"), writes(root + "/.github/workflows/a.yml")}, want: always},
		"a read-only command":             {access: []tool.Access{execs("ls")}, want: never},
		"a read-only command of a secret": {access: []tool.Access{execs("cat .env")}, want: never},
		"an allow rule":                   {access: []tool.Access{execs("make")}, allow: []string{"Shell(make)"}, want: [4]bool{true, false, false, false}},
		"an ask rule":                     {access: []tool.Access{execs("make")}, ask: []string{"Shell(make)"}, want: never},
		"an ask rule for all":             {access: []tool.Access{execs("make")}, ask: []string{"Shell"}, want: never},
		"a deny rule":                     {access: []tool.Access{execs("make")}, deny: []string{"Shell(make)"}, want: never},
		"a deny rule in a wrapper":        {access: []tool.Access{execs("env make")}, deny: []string{"Shell(make)"}, want: never},
		"a deny rule that may match":      {access: []tool.Access{execs("$x install")}, deny: []string{"Shell(rm)"}, want: never},
		"a path that a rule denies":       {access: []tool.Access{execs("sed -i s/a/b/ x/y")}, deny: []string{"Edit(/x/**)"}, want: never},
		"a path that a rule asks about":   {access: []tool.Access{execs("sed -i s/a/b/ x/y")}, ask: []string{"Edit(/x/**)"}, want: never},
		"a protected path that is asked":  {access: []tool.Access{execs("git checkout x"), writes(root + "/.mcp.json")}, ask: []string{"Edit(/.mcp.json)"}, want: never},
		"a deny rule on writing":          {access: []tool.Access{execs("make")}, deny: []string{"Edit(/x/**)"}, want: always},
		"a deny rule on reading":          {access: []tool.Access{execs("make")}, deny: []string{"Read(/x/**)"}, want: always},
		"a deny rule on reading anything": {access: []tool.Access{execs("make")}, deny: []string{"Read"}, want: never},
		"an ask rule on reading":          {access: []tool.Access{execs("make")}, ask: []string{"Read(/x/**)"}, want: never},
		"in a directory elsewhere":        {access: []tool.Access{execs("make"), reads("/data/")}, want: never},
		"invisible characters":            {access: []tool.Access{execs("make \u202e")}, want: never},
		"what can't be read":              {access: []tool.Access{execs("make 'x")}, want: never},
		"an edit":                         {access: []tool.Access{writes(root + "/a")}, want: never},
		"an unknown tool":                 {access: []tool.Access{tool.Anything}, want: never},
		"a host":                          {access: []tool.Access{reaches("example.com")}, want: never},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, _, err := permission.ParseRules(tt.allow, tt.ask, tt.deny)
			if err != nil {
				t.Fatal(err)
			}
			r := request(tt.access...)
			r.Declaration = tool.Declaration{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute}
			for i, m := range permission.Modes() {
				p := permission.New(world(), m)
				p.SetRules(rules)
				if d := p.Judge(r); d.Try != tt.want[i] || d.Try && d.Verdict == tool.Allow {
					t.Errorf("%s: %v, try is %v", m, d.Verdict, d.Try)
				}
				if d, _ := permission.Check(world(), rules, m, permission.Options{}, r); d.Try != tt.want[i] {
					t.Errorf("check in %s: try is %v", m, d.Try)
				}
			}
		})
	}
}

// A directory that a tried command made or deleted is judged like a file in it: names that are protected have the user asked.
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
	rules, _, err := permission.ParseRules(nil, nil, []string{"Edit(/dist/keep.txt)"})
	if err != nil {
		t.Fatal(err)
	}
	p := permission.New(world(), permission.AutoEdit)
	p.SetRules(rules)
	if d := p.Judge(r); d.Verdict == tool.Allow {
		t.Error("a directory with a denied file was allowed")
	}
}

// Specifiers in tools.core are about the command that was tried, not about what it changed.
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
	if d := tool.Stricter(permission.New(world(), permission.Default).Judge, judge)(tool.Request{
		Declaration: r.Declaration, Invocation: tool.Invocation{Access: []tool.Access{execs("make all")}},
	}); !d.Try {
		t.Error("a covered command isn't tried")
	}
}
