//go:build unix

package permission_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/dev/bashlab"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

const (
	root = "/home/me/app"
	home = "/home/me"
)

func world() permission.World {
	return permission.World{
		Roots: []string{root, "/srv/lib"}, Home: home,
		State: "/home/me/.adze", Spill: "/home/me/.adze/spill/s1",
	}
}

func request(as ...tool.Access) tool.Request {
	return tool.Request{
		Call:        tool.Call{ID: "1", Name: "write_file"},
		Declaration: tool.Declaration{Name: "write_file", DisplayName: "WriteFile", Kind: tool.Edit},
		Invocation:  tool.Invocation{Access: as},
	}
}

// commandRequest is a call of the shell tool in the workspace.
func commandRequest(line string) tool.Request { return commandIn(root, line) }

// commandIn is a call of the shell tool in a directory.
func commandIn(dir, line string) tool.Request {
	return tool.Request{
		Declaration: tool.Declaration{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute},
		Invocation:  tool.Invocation{Access: []tool.Access{execs(line)}, Confirm: tool.Command{Line: line, Directory: dir}},
	}
}

func reads(target string) tool.Access   { return tool.Access{Verb: tool.Reads, Target: target} }
func writes(target string) tool.Access  { return tool.Access{Verb: tool.Writes, Target: target} }
func execs(command string) tool.Access  { return tool.Access{Verb: tool.Execs, Target: command} }
func reaches(target string) tool.Access { return tool.Access{Verb: tool.Reaches, Target: target} }
func locks(target string) tool.Access   { return tool.Access{Verb: tool.Locks, Target: target} }

// plainDisk is a disk without links, secrets and settings of git.
type plainDisk struct{}

func (plainDisk) Resolve(p string) string           { return path.Clean(p) }
func (plainDisk) Git(string) (string, string, bool) { return root, "", true }
func (plainDisk) Repository(string) bool            { return false }
func (plainDisk) Exists(p string) bool {
	return (strings.HasPrefix(p, home) || strings.HasPrefix(p, "/data")) && !strings.HasSuffix(p, "/.")
}
func (plainDisk) Tracked(string, func(string) bool) bool { return true }

func corpus(t testing.TB) bashlab.Corpus { return bashlab.ReadCorpus(t, "testdata") }

// plainWorld is world with a disk.
func plainWorld() permission.World {
	w := world()
	w.Disk = func() permission.Disk { return plainDisk{} }
	w.Secrets = func() ([]string, bool) { return nil, true }
	return w
}

// in returns a world with a place for commands.
func in(p permission.Place, w permission.World) permission.World {
	w.Place = func() permission.Place { return p }
	return w
}

func parse(t interface{ Fatal(...any) }, allow, ask, deny []string) permission.Rules {
	rules, _, err := permission.ParseRules(allow, ask, deny)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// policy is a policy with rules.
func policy(t testing.TB, w permission.World, m permission.Mode, allow, ask, deny []string) *permission.Policy {
	t.Helper()
	p := permission.New(w, m)
	p.SetRules(parse(t, allow, ask, deny))
	return p
}

func TestOddWorlds(t *testing.T) {
	service := world()
	service.Home, service.Roots = "/opt/svc", []string{"/opt/svc/app"}
	inner := world()
	inner.State = root + "/state"
	tests := []struct {
		name  string
		world permission.World
		a     tool.Access
		want  verdicts
	}{
		{"no workspace", permission.World{}, reads("/home/me/app/x"), asked},
		{"no workspace, write", permission.World{}, writes("/home/me/app/x"), changes},
		{"no workspace, system", permission.World{}, reads("/usr/bin/ls"), free},
		{"a home in a system directory", service, reads("/opt/svc/notes.txt"), asked},
		{"beside such a home", service, reads("/opt/go/VERSION"), free},
		{"workspace in such a home", service, reads("/opt/svc/app/x"), free},
		{"state inside the workspace, write", inner, writes(root + "/state/settings.json"), changes},
		{"state inside the workspace, read", inner, reads(root + "/state/settings.json"), asked},
		{"no system directories", permission.World{System: []string{}}, reads("/usr/bin/ls"), asked},
		{"the whole disk", permission.World{Roots: []string{"/"}}, writes("/home/me/x"), edits},
		{"the whole disk, secret", permission.World{Roots: []string{"/"}}, reads("/etc/shadow"), asked},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got verdicts
			for i, m := range permission.Modes() {
				got[i] = permission.New(test.world, m).Judge(request(test.a)).Verdict
			}
			if got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// A program that embeds Adze forgot World.Disk, and then `cat link` read through a link out of the workspace without
// approval: without a disk, no command that names a path is auto-approved.
func TestWithoutADiskPathsRequireApproval(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "notes"), []byte("private\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("public\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "notes"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	without := permission.World{Roots: []string{dir}, Home: "/home/me"}
	with := without
	with.Disk, with.Secrets = ondisk.New(with.Roots), secretsIn(dir)
	for line, want := range map[string][2]tool.Verdict{ // without and with a disk
		"date":                           {tool.Allow, tool.Allow},
		"echo hi":                        {tool.Allow, tool.Allow},
		"cat file":                       {tool.Ask, tool.Allow},
		"cat link":                       {tool.Ask, tool.Ask},
		"cat l*":                         {tool.Ask, tool.Ask},
		"grep -r public .":               {tool.Ask, tool.Allow},
		"wc -l < link":                   {tool.Ask, tool.Ask},
		"cd . && ls":                     {tool.Ask, tool.Allow},
		"for f in link; do cat $f; done": {tool.Ask, tool.Ask},
	} {
		for i, w := range []permission.World{without, with} {
			d := permission.New(w, permission.Default).Judge(commandIn(dir, line))
			if d.Verdict != want[i] {
				t.Errorf("%s (disk: %v): %v, want %v: %s", line, i == 1, d.Verdict, want[i], d.Why())
			}
		}
	}
	if d := policy(t, without, permission.Default, nil, nil, []string{"Read(/link)"}).Judge(commandIn(dir, "cat link")); d.Verdict != tool.Deny {
		t.Errorf("a deny rule on the path as written: %v", d.Verdict)
	}
}

// Adze's own directory is secret: only rules that name it cover it, and a search above it reads it.
func TestOwnDirectory(t *testing.T) {
	for _, state := range []string{"/home/me/.adze", "/srv/adze", root + "/state"} {
		w := plainWorld()
		w.State, w.Spill = state, state+"/spill"
		for rule, want := range map[string]tool.Verdict{
			"Read(~/**)": tool.Ask, "Read(//**)": tool.Ask, "Read": tool.Ask, "Read(/**)": tool.Ask, "Read(//srv/**)": tool.Ask, "Read(//**/*.json)": tool.Ask,
			"Read(/" + state + "/**)": tool.Allow, "Read(/" + state + "/*.json)": tool.Allow, "Read(/" + state + "/settings.json)": tool.Allow,
		} {
			p := policy(t, w, permission.Default, []string{rule}, nil, nil)
			if d := p.Judge(request(reads(state + "/settings.json"))); d.Verdict != want {
				t.Errorf("%s: %s: %v, want %v", state, rule, d.Verdict, want)
			}
			if d := p.Judge(request(reads(state + "/spill/s/x.txt"))); d.Verdict != tool.Allow {
				t.Errorf("%s: a saved result: %v", state, d.Verdict)
			}
		}
		p := policy(t, w, permission.Default, nil, nil, nil)
		inside := strings.HasPrefix(state, root)
		for line, asks := range map[string]bool{"grep -r x .": inside, "grep -r x state": inside, "grep -r x src": false, "ls": false} {
			if d := p.Judge(request(tool.Access{Verb: tool.Execs, Target: line})); (d.Verdict == tool.Ask) != asks {
				t.Errorf("%s: %s: %v %s", state, line, d.Verdict, d.Reason)
			}
		}
	}
}

// secretsIn is a World.Secrets for a directory.
func secretsIn(dir string) func() ([]string, bool) {
	return func() (paths []string, known bool) {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if _, secret := names.Secret(path); secret {
				paths = append(paths, path)
			}
			return err
		})
		return paths, err == nil
	}
}
