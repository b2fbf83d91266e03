//go:build unix

package permission_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

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
	blind := permission.World{Roots: []string{dir}, Home: "/home/me"}
	seeing := blind
	seeing.Disk = ondisk.New(seeing.Roots)
	run := func(line string) tool.Request {
		r := commandRequest(line)
		r.Confirm = tool.Command{Line: line, Directory: dir}
		return r
	}
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
		for i, w := range []permission.World{blind, seeing} {
			d := permission.New(w.Patient(), permission.Default).Judge(run(line))
			if d.Verdict != want[i] {
				t.Errorf("%s (disk: %v): %v, want %v: %s", line, i == 1, d.Verdict, want[i], d.Why())
			}
		}
	}
	p := permission.New(blind.Patient(), permission.Default)
	rules, _, err := permission.ParseRules(nil, nil, []string{"Read(/link)"})
	if err != nil {
		t.Fatal(err)
	}
	p.SetRules(rules)
	if d := p.Judge(run("cat link")); d.Verdict != tool.Deny {
		t.Errorf("a deny rule on the path as written: %v", d.Verdict)
	}
}
