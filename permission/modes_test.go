//go:build unix

package permission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// The verdicts of plan, default, auto-edit and yolo.
type verdicts [4]tool.Verdict

var (
	free    = verdicts{tool.Allow, tool.Allow, tool.Allow, tool.Allow}
	asked   = verdicts{tool.Ask, tool.Ask, tool.Ask, tool.Allow}
	edits   = verdicts{tool.Deny, tool.Ask, tool.Allow, tool.Allow}
	changes = verdicts{tool.Deny, tool.Ask, tool.Ask, tool.Allow}
)

var tableTests = []struct {
	name   string
	access []tool.Access
	want   verdicts
}{
	{"nothing", []tool.Access{tool.Nothing}, free},
	{"lock a name", []tool.Access{locks("todos")}, free},
	{"lock the session", []tool.Access{locks("*")}, free},

	{"read in the workspace", []tool.Access{reads(root + "/main.go")}, free},
	{"read in another root", []tool.Access{reads("/srv/lib/x.go")}, free},
	{"read the root", []tool.Access{reads(root)}, free},
	{"read all of the root", []tool.Access{reads(root + "/")}, free},
	{"read a directory in the workspace", []tool.Access{reads(root + "/src/")}, free},
	{"read a protected name", []tool.Access{reads(root + "/.git/HEAD")}, free},
	{"read git's configuration", []tool.Access{reads(root + "/.git/config")}, asked},
	{"read /usr", []tool.Access{reads("/usr/include/stdio.h")}, free},
	{"read /bin", []tool.Access{reads("/bin/sh")}, free},
	{"read /lib", []tool.Access{reads("/lib/x.so")}, free},
	{"read /opt", []tool.Access{reads("/opt/go/VERSION")}, free},
	{"read /etc", []tool.Access{reads("/etc/hosts")}, free},
	{"read all of /usr/include", []tool.Access{reads("/usr/include/")}, free},
	{"read a spill file", []tool.Access{reads("/home/me/.adze/spill/s1/call_1.txt")}, free},
	{"read the spill directory", []tool.Access{reads("/home/me/.adze/spill/s1/")}, free},

	{"read in the home", []tool.Access{reads("/home/me/notes.txt")}, asked},
	{"read a directory outside", []tool.Access{reads("/home/me/")}, asked},
	{"read the whole disk", []tool.Access{reads("/")}, asked},
	{"read unknown paths", []tool.Access{reads("*")}, asked},
	{"read a look-alike of the root", []tool.Access{reads("/home/me/app-evil/x")}, asked},
	{"read the root in another case", []tool.Access{reads("/home/me/APP/x")}, asked},
	{"read a look-alike of /usr", []tool.Access{reads("/usr2/x")}, asked},
	{"read another session's spill file", []tool.Access{reads("/home/me/.adze/spill/s10/call_1.txt")}, asked},
	{"read own settings", []tool.Access{reads("/home/me/.adze/settings.json")}, asked},
	{"read /proc", []tool.Access{reads("/proc/cpuinfo")}, asked},
	{"read /proc/PID/environ", []tool.Access{reads("/proc/1/environ")}, asked},
	{"read /etc/shadow", []tool.Access{reads("/etc/shadow")}, asked},
	{"read .env", []tool.Access{reads(root + "/.env")}, asked},
	{"read .ENV", []tool.Access{reads(root + "/.ENV")}, asked},
	{"read a key", []tool.Access{reads(root + "/server.key")}, asked},
	{"read ~/.ssh", []tool.Access{reads("/home/me/.ssh/id_ed25519")}, asked},
	{"read all of ~/.ssh", []tool.Access{reads("/home/me/.ssh/")}, asked},
	{"read an unresolved path", []tool.Access{reads(root + "/../notes.txt")}, asked},
	{"read a relative path", []tool.Access{reads("main.go")}, asked},
	{"read no path", []tool.Access{reads("")}, asked},
	{"read a doubled slash", []tool.Access{reads(root + "//")}, asked},
	{"read a NUL", []tool.Access{reads(root + "/a\x00b")}, asked},

	{"write in the workspace", []tool.Access{writes(root + "/main.go")}, edits},
	{"write in a new directory", []tool.Access{writes(root + "/a/b/c.go")}, edits},
	{"write in another root", []tool.Access{writes("/srv/lib/x.go")}, edits},

	{"write outside", []tool.Access{writes("/home/me/notes.txt")}, changes},
	{"write a look-alike of the root", []tool.Access{writes("/home/me/app-evil/x")}, changes},
	{"write the root in another case", []tool.Access{writes("/home/me/App/x")}, changes},
	{"write the root itself", []tool.Access{writes(root)}, changes},
	{"write a directory", []tool.Access{writes(root + "/src/")}, changes},
	{"write all of the root", []tool.Access{writes(root + "/")}, changes},
	{"write unknown paths", []tool.Access{writes("*")}, changes},
	{"write in /etc", []tool.Access{writes("/etc/hosts")}, changes},
	{"write a spill file", []tool.Access{writes("/home/me/.adze/spill/s1/call_1.txt")}, changes},
	{"write .git", []tool.Access{writes(root + "/.git/hooks/pre-commit")}, changes},
	{"write .GIT", []tool.Access{writes(root + "/.GIT/config")}, changes},
	{"write .git with a dot", []tool.Access{writes(root + "/.git./config")}, changes},
	{"write project settings", []tool.Access{writes(root + "/.adze/settings.json")}, changes},
	{"write Qwen's settings", []tool.Access{writes(root + "/sub/.Qwen/settings.json")}, changes},
	{"write MCP servers", []tool.Access{writes(root + "/.mcp.json")}, changes},
	{"write CI", []tool.Access{writes(root + "/.github/workflows/ci.yml")}, changes},
	{"write an unresolved path", []tool.Access{writes(root + "/x/../../notes.txt")}, changes},
	{"write a relative path", []tool.Access{writes("main.go")}, changes},

	{"run a command", []tool.Access{execs("make")}, changes},
	{"run a read-only command", []tool.Access{execs("date")}, free},
	{"run a read-only command that names a path, without a disk", []tool.Access{execs("ls")}, changes},
	{"anything", []tool.Access{tool.Anything}, changes},
	{"no access", nil, changes},
	{"an unknown verb", []tool.Access{{Verb: "teleports", Target: root + "/main.go"}}, changes},
	{"reach a host", []tool.Access{reaches("example.com")}, asked},
	{"reach any host", []tool.Access{reaches("*")}, asked},

	{"read inside and outside", []tool.Access{reads(root + "/a"), reads("/home/me/b")}, asked},
	{"read inside, write inside", []tool.Access{reads(root + "/a"), writes(root + "/a")}, edits},
	{"write inside, reach", []tool.Access{writes(root + "/a"), reaches("example.com")}, verdicts{tool.Deny, tool.Ask, tool.Ask, tool.Allow}},
	{"write inside and outside", []tool.Access{writes(root + "/a"), writes("/home/me/b")}, changes},
	{"lock and run", []tool.Access{locks("todos"), execs("make")}, changes},
	{"nothing and read a secret", []tool.Access{tool.Nothing, reads(root + "/.env")}, asked},
}

func TestTable(t *testing.T) {
	for _, test := range tableTests {
		t.Run(test.name, func(t *testing.T) {
			var got verdicts
			for i, m := range permission.Modes() {
				d := permission.New(world(), m).Judge(request(test.access...))
				got[i] = d.Verdict
				if d.Reason == "" {
					t.Errorf("%s: no reason", m)
				}
			}
			if got != test.want {
				t.Errorf("plan, default, auto-edit, yolo: %v, want %v", got, test.want)
			}
		})
	}
}

// The access that an external tool declares is ignored.
func TestExternalToolsMayDoAnything(t *testing.T) {
	r := request(tool.Nothing)
	r.Declaration = tool.Declaration{Name: "github__search", Origin: "mcp:github", Kind: tool.Read}
	for i, m := range permission.Modes() {
		if got := permission.New(world(), m).Judge(r).Verdict; got != changes[i] {
			t.Errorf("%s: %v, want %v", m, got, changes[i])
		}
	}
}

// Hooks must not answer prompts in plan mode, so the cause has the mode, even if a rule asks.
func TestPlanModeIsInTheCause(t *testing.T) {
	rules, _, err := permission.ReadRules(nil, []permission.Written{{Text: "Read(/asked)"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		mode permission.Mode
		path string
		want tool.Cause
	}{
		{permission.Plan, "/home/me/x", tool.Cause{Kind: tool.ByMode, Mode: "plan"}},
		{permission.Plan, root + "/asked", tool.Cause{Kind: tool.ByRule, Mode: "plan"}},
		{permission.Default, root + "/asked", tool.Cause{Kind: tool.ByRule}},
	} {
		p := permission.New(world(), test.mode)
		p.SetRules(rules)
		got := p.Judge(request(reads(test.path)))
		got.Cause.Rules = nil
		if diff := cmp.Diff(test.want, got.Cause); diff != "" || got.Verdict != tool.Ask {
			t.Error(test.mode, test.path, got.Verdict, diff)
		}
	}
}

func TestParseMode(t *testing.T) {
	for in, want := range map[string]permission.Mode{
		"plan": permission.Plan, "default": permission.Default, "yolo": permission.Yolo, "YOLO": permission.Yolo,
		"auto-edit": permission.AutoEdit, "auto_edit": permission.AutoEdit, "autoEdit": permission.AutoEdit,
		"acceptEdits": permission.AutoEdit, "bypassPermissions": permission.Yolo,
	} {
		if got, err := permission.ParseMode(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "auto", "turbo", "plan "} {
		if got, err := permission.ParseMode(in); err == nil {
			t.Errorf("%q: accepted as %q", in, got)
		}
	}
}

func TestModeZeroAndNonsense(t *testing.T) {
	p := permission.New(world(), "")
	if got := p.Mode(); got != permission.Default {
		t.Errorf("zero mode: %q", got)
	}
	if got := p.Judge(request(writes(root + "/a"))).Verdict; got != tool.Ask {
		t.Errorf("zero mode: %v", got)
	}
	p.SetMode("turbo")
	if got := p.Judge(request(writes(root + "/a"))).Verdict; got != tool.Deny {
		t.Errorf("a mode that does not exist: %v, want the strictest", got)
	}
}
