//go:build unix

package permission_test

import (
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

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
		judge := readCore(t, strings.Split(tt.entries, ";")...).Policy(world().Patient())
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
