//go:build unix

package permission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

var someTools = map[string]tool.Declaration{
	"write":  {Name: "write_file", DisplayName: "WriteFile", Kind: tool.Edit},
	"read":   {Name: "read_file", DisplayName: "ReadFile", Kind: tool.Read},
	"edit":   {Name: "edit", DisplayName: "Edit", Aliases: []string{"replace"}, Kind: tool.Edit},
	"grep":   {Name: "grep_search", DisplayName: "Grep", Aliases: []string{"search_file_content"}, Kind: tool.Search},
	"fetch":  {Name: "web_fetch", DisplayName: "WebFetch", Kind: tool.Fetch},
	"todo":   {Name: "todo_write", DisplayName: "TodoWrite", Kind: tool.Think},
	"mcp":    {Name: "github__search", DisplayName: "ReadFile", Origin: "mcp:github"},
	"mcp2":   {Name: "gitlab__search", Origin: "mcp:gitlab"},
	"found":  {Name: "my_tool", Origin: "command"},
	"bash":   {Name: "Bash", Origin: "command"},
	"mimic":  {Name: "WriteFile", Origin: "command"},
	"server": {Name: "git__x", Origin: "mcp:git"},
}

func readCore(t *testing.T, entries ...string) *permission.Core {
	t.Helper()
	var list []permission.Written
	for _, e := range entries {
		list = append(list, permission.Written{Text: e, Source: "settings.json:1:1"})
	}
	c, err := permission.ReadCore(list)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCoreHas(t *testing.T) {
	for _, tt := range []struct {
		entries string
		want    string // of someTools
	}{
		{"read_file", "read"},
		{"ReadFileTool", "read"},
		{"Edit", "edit write"},
		{"replace", "edit"},
		{"WriteFile(src/**)", "write"},
		{"mcp__github Nothing", ""},
		{"", ""},
	} {
		c := readCore(t, strings.Fields(tt.entries)...)
		for name, d := range someTools {
			want := d.Origin != "" || strings.Contains(" "+tt.want+" ", " "+name+" ")
			if c.Has(d) != want {
				t.Errorf("%q has %s: %v", tt.entries, name, !want)
			}
		}
	}
	var tools []tool.Declaration
	for _, d := range someTools {
		tools = append(tools, d)
	}
	if unused := readCore(t, "read_file", "raed_file", "mcp__x__y").Unused(tools); len(unused) != 1 || unused[0].Text != "raed_file" {
		t.Errorf("unused: %v", unused)
	}
	if _, err := permission.ReadCore([]permission.Written{{Text: "Shell("}}); err == nil {
		t.Error("an unreadable entry was taken")
	}
}

func TestCorePolicy(t *testing.T) {
	shell := tool.Declaration{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute}
	for _, tt := range []struct {
		entries string // separated by ;
		d       tool.Declaration
		a       tool.Access
		want    tool.Verdict
	}{
		{"Shell(git status)", shell, execs("git status"), tool.Allow},
		{"Shell(git:*)", shell, execs("git push"), tool.Allow},
		{"run_shell_command(git:*)", shell, execs("git push"), tool.Allow},
		{"ShellTool(git)", shell, execs("git push --force"), tool.Allow},
		{"Shell(git:*)", shell, execs("ls"), tool.Deny}, // although it is read-only
		{"Shell(git:*)", shell, execs("git status; rm x"), tool.Deny},
		{"Shell(git:*)", shell, execs("git status $(rm x)"), tool.Deny},
		{"Shell(git:*);Shell(ls)", shell, execs("git status && ls"), tool.Allow},
		{"Shell(git:*);Shell", shell, execs("rm x"), tool.Allow},
		{"Shell(*)", shell, execs("rm x"), tool.Allow},
		{"Edit(src/**)", someTools["write"], writes(root + "/src/a"), tool.Allow},
		{"Edit(src/**)", someTools["write"], writes(root + "/a"), tool.Deny},
		{"Edit(src/**)", someTools["write"], writes(root + "/src/../a"), tool.Deny},
		{"read_file(docs/**)", someTools["read"], reads(root + "/docs/a"), tool.Allow},
		{"read_file(docs/**)", someTools["read"], reads(root + "/a"), tool.Deny},
		{"WebFetch(domain:example.com)", someTools["fetch"], reaches("www.example.com"), tool.Allow},
		{"WebFetch(domain:example.com)", someTools["fetch"], reaches("example.org"), tool.Deny},
		{"Edit(src/**)", someTools["mcp"], tool.Anything, tool.Allow}, // external tools are not affected
		{"Edit(src/**);todo_write", someTools["todo"], tool.Nothing, tool.Allow},
	} {
		judge := readCore(t, strings.Split(tt.entries, ";")...).Policy(world())
		if judge == nil {
			if tt.want != tool.Allow {
				t.Errorf("%s: no policy", tt.entries)
			}
			continue
		}
		d := judge(tool.Request{Declaration: tt.d, Invocation: tool.Invocation{Access: []tool.Access{tt.a}}})
		if d.Verdict != tt.want {
			t.Errorf("%s: %v %s: %v, want %v", tt.entries, tt.a, tt.d.Name, d.Verdict, tt.want)
		}
		if d.Verdict == tool.Deny && !strings.Contains(d.Why(), "tools.core rule "+strings.Split(tt.entries, ";")[0]+" in settings.json:1:1") {
			t.Errorf("%s: %s", tt.entries, d.Why())
		}
	}
}

func TestExcluding(t *testing.T) {
	tools := []tool.Declaration{
		{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute},
		{Name: "read_file", DisplayName: "ReadFile", RuleNames: []string{"Read"}, Kind: tool.Read},
		{Name: "edit", DisplayName: "Edit", Aliases: []string{"replace"}, Kind: tool.Edit},
		{Name: "write_file", DisplayName: "WriteFile", Kind: tool.Edit},
		{Name: "github__search", Origin: "mcp:github", Kind: tool.Other},
		{Name: "gitlab__search", Origin: "mcp:gitlab", Kind: tool.Other},
		{Name: "deploy", Origin: "command", Kind: tool.Other},
	}
	for rules, want := range map[string]string{
		"":                          "",
		"run_shell_command":         "run_shell_command",
		"Shell":                     "run_shell_command",
		"ShellTool":                 "run_shell_command",
		"Shell(*)":                  "run_shell_command",
		"Shell(rm) read_file(/etc)": "",
		"Read":                      "read_file",
		"replace":                   "edit",
		"Edit":                      "edit write_file",
		"WriteFile deploy":          "write_file deploy",
		"mcp__github":               "github__search",
		"gitlab__*":                 "gitlab__search",
		"mcp__*":                    "github__search gitlab__search",
		"github__search":            "github__search",
		"nothing":                   "",
	} {
		excluded, err := permission.Excluding(strings.Fields(rules))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range tools {
			if excluded(d) {
				got = append(got, d.Name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q excludes %q, want %q", rules, got, want)
		}
	}
	if _, err := permission.Excluding([]string{"Shell(rm"}); err == nil || !strings.Contains(err.Error(), `"Shell(rm": `) {
		t.Errorf("an entry that cannot be read: %v", err)
	}
}

// externalCall is a call of an external tool with a fingerprint.
func externalCall(print string) tool.Request {
	r := request(tool.Nothing)
	r.Declaration = tool.Declaration{Name: "hub__search", Origin: "mcp:hub", Fingerprint: print}
	return r
}

// Offers and remembered approvals for an external tool have its fingerprint, so they end when its server changes it.
func TestApprovalsAreForOneVersion(t *testing.T) {
	first, second := strings.Repeat("a1", 32), strings.Repeat("b2", 32)
	p := permission.New(world(), permission.Default)
	d := p.Judge(externalCall(first))
	offer := "hub__search(print:" + first[:40] + ")"
	if diff := cmp.Diff([]string{offer}, d.Offer); diff != "" {
		t.Error(diff)
	}
	if !p.Remember(externalCall(first), offer) || p.Judge(externalCall(first)).Verdict != tool.Allow {
		t.Error("the approval isn't remembered")
	}
	d = p.Judge(externalCall(second))
	if want := "has effects that can't be known in advance (from mcp:hub), and the tool changed since you approved it (mode: default)"; d.Verdict != tool.Ask || d.Why() != want {
		t.Errorf("%v: %s", d.Verdict, d.Why())
	}
	if old := p.Outdated(externalCall(second)); old != first[:40] {
		t.Errorf("outdated is %q", old)
	}
	if p.Outdated(externalCall(first)) != "" {
		t.Error("the tool that was allowed is outdated")
	}
	other := externalCall(second)
	other.Declaration.Name, other.Declaration.Origin = "hub__other", "mcp:other"
	if p.Outdated(other) != "" {
		t.Error("another tool is outdated")
	}
	if p.Remember(externalCall(second), offer) {
		t.Error("a rule that wasn't offered is remembered")
	}
}

// A question that only the user can answer, such as one of a server, offers no rule: it would allow calls of the tool.
func TestNoOfferWhereOnlyTheUserAnswers(t *testing.T) {
	p := permission.New(world(), permission.Default)
	r := externalCall(strings.Repeat("a1", 32))
	offer := p.Judge(r).Offer[0]
	r.MustAsk = true
	if d := p.Judge(r); len(d.Offer) > 0 || p.Remember(r, offer) {
		t.Errorf("%q is offered", d.Offer)
	}
}

func TestRulesWithFingerprints(t *testing.T) {
	print := strings.Repeat("0f", 32)
	bound := "hub__search(print:" + print[:40] + ")"
	for _, c := range []struct {
		name             string
		allow, ask, deny []string
		print            string
		want             tool.Verdict
	}{
		{"the same version", []string{bound}, nil, nil, print, tool.Allow},
		{"the whole fingerprint", []string{"hub__search(print:" + print + ")"}, nil, nil, print, tool.Allow},
		{"in Qwen's spelling", []string{"mcp__" + bound}, nil, nil, print, tool.Allow},
		{"a changed tool", []string{bound}, nil, nil, strings.Repeat("0e", 32), tool.Ask},
		{"a tool without a fingerprint", []string{bound}, nil, nil, "", tool.Ask},
		{"a rule without a fingerprint", []string{"hub__search"}, nil, nil, print, tool.Allow},
		{"a rule for the server", []string{"mcp__hub"}, nil, nil, print, tool.Allow},
		{"a rule without a fingerprint and an outdated one", []string{bound, "hub__*"}, nil, nil, strings.Repeat("0e", 32), tool.Allow},
		{"an ask rule for another version", []string{"hub__search"}, []string{bound}, nil, strings.Repeat("0e", 32), tool.Ask},
		{"a deny rule for another version", []string{"hub__search"}, nil, []string{bound}, strings.Repeat("0e", 32), tool.Deny},
	} {
		p := policy(t, world(), permission.Default, c.allow, c.ask, c.deny)
		if d := p.Judge(externalCall(c.print)); d.Verdict != c.want {
			t.Errorf("%s: %v: %s", c.name, d.Verdict, d.Reason)
		}
	}
	// Short fingerprints could be forged.
	for _, bad := range []string{"hub__search(print:)", "hub__search(print:0f0f)", "hub__search(print:" + strings.Repeat("0G", 20) + ")"} {
		if _, ignored, err := permission.ParseRules([]string{bad}, nil, nil); err != nil || len(ignored) != 1 {
			t.Errorf("%s: %v %v", bad, ignored, err)
		}
	}
	// A built-in tool has no fingerprint.
	r := request(writes(root + "/a"))
	p := policy(t, world(), permission.Default, []string{"WriteFile(print:" + print + ")"}, nil, nil)
	if d := p.Judge(r); d.Verdict != tool.Ask {
		t.Errorf("a built-in tool: %v", d.Verdict)
	}
	if name, ok := permission.Bound(bound); !ok || name != "hub__search" {
		t.Errorf("%s %v", name, ok)
	}
	for _, free := range []string{"hub__search", "Shell(print:" + print + ")"} {
		if _, ok := permission.Bound(free); ok {
			t.Errorf("%s is bound", free)
		}
	}
}

// An offer is shown with what it covers.
func TestExtent(t *testing.T) {
	for offer, want := range map[string]string{
		"Edit(/greet.sh)":                            "this file",
		"Read(//etc/hosts)":                          "this file",
		"Edit(/src/**)":                              "this directory",
		"Edit(/**)":                                  "this project",
		"Shell(make test:*)":                         "with any further words",
		"Shell(rm -rf build)":                        "exactly these words",
		"WebFetch(domain:one.example)":               "this domain",
		"WebFetch(domain:127.0.0.1:8080)":            "this host",
		"WebFetch":                                   "every call",
		"github__search(print:0123456789abcdef0123)": "",
		"Shell(make test)\nShell(go vet)":            "exactly these words",
		"Shell(docker ps:*)":                         "also allows docker ps --all --no-trunc",
		"Shell(make)\nShell(docker ps:*)":            "also allows docker ps --all --no-trunc",
		"Shell(make)\nRead(x)":                       "",
	} {
		if got := permission.Extent(offer); got != want {
			t.Errorf("%s: %q, want %q", offer, got, want)
		}
	}
}
