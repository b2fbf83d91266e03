package permission_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/ondisk"
	"github.com/adze-dev/adze/tool"
)

func TestDeniedPaths(t *testing.T) {
	const base = "/home/me/a [b]"
	p := permission.New(permission.World{Roots: []string{base}, Home: "/home/me"}, permission.Yolo)
	for _, c := range []struct{ rule, from, yes, no string }{
		{"Read(private/**)", base + "/private", base + "/private " + base + "/private/x/y", base + "/privates " + base},
		{"Edit(one.txt)", base + "/one.txt", base + "/one.txt", base + "/two.txt"},
		{"Read(**/*.env)", base, base + "/x.env " + base + "/a/b/.env " + base + "/d.env/inner", base + " " + base + "/a"},
		{"Edit(src/*/gen)", base + "/src", base + "/src/a/gen " + base + "/src/a/gen/b", base + "/src/gen"},
		{"Read(~/.ssh/**)", "/home/me/.ssh", "/home/me/.ssh /home/me/.ssh/id", "/home/me"},
		{"Edit(//etc/)", "/etc", "/etc/passwd", "/"},
	} {
		rules, _, err := permission.ParseRules(nil, nil, []string{c.rule})
		if err != nil {
			t.Fatal(err)
		}
		p.SetRules(rules)
		got := p.DeniedPaths()
		if len(got) != 1 || got[0].From != c.from || got[0].Read != strings.HasPrefix(c.rule, "Read") || got[0].Edit == got[0].Read {
			t.Errorf("%s: %+v", c.rule, got)
			continue
		}
		split := func(s string) []string { return strings.Split(strings.ReplaceAll(s, " /", "\x00/"), "\x00") }
		for _, path := range split(c.yes) {
			if !got[0].Matches(path) {
				t.Errorf("%s doesn't match %s", c.rule, path)
			}
		}
		for _, path := range split(c.no) {
			if got[0].Matches(path) {
				t.Errorf("%s matches %s", c.rule, path)
			}
		}
	}
	rules, _, err := permission.ParseRules(nil, []string{"Read(x)"}, []string{"Shell(rm)", "WebFetch"})
	if err != nil {
		t.Fatal(err)
	}
	if p.SetRules(rules); len(p.DeniedPaths()) > 0 {
		t.Errorf("%+v", p.DeniedPaths())
	}
}

// In yolo mode, a path through /proc counted as hidden by the read-only sandbox, and then the command ran without one.
func TestUnknownPathInYolo(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, "private/n.txt canary")
	rules, _, err := permission.ParseRules(nil, nil, []string{"Read(private/**)"})
	if err != nil {
		t.Fatal(err)
	}
	w := permission.World{Roots: []string{dir}, Home: filepath.Join(dir, "home"), Disk: ondisk.New([]string{dir})}
	for _, line := range []string{"cat /proc/self/cwd/private/n.txt", "cat /proc/self/root" + dir + "/private/n.txt"} {
		if d, _ := permission.Check(w, rules, permission.Yolo, permission.Options{}, commandIn(dir, line)); d.Verdict == tool.Allow && len(d.Grant) == 0 {
			t.Errorf("%s: %v", line, d)
		}
	}
}
