//go:build unix

package permission_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

var update = flag.Bool("update", false, "rewrite testdata/enforced_allowed.txt")

// stocked is a calm disk that has every secret that is asked for, and whatever is in the home.
type stocked struct{ calm }

func (stocked) Glob(pattern string) ([]string, bool) {
	if _, secret := names.Secret(pattern); secret || strings.HasPrefix(pattern, home) && !strings.HasPrefix(pattern, root) {
		return []string{pattern}, true
	}
	return nil, true
}

func enforcedWorld() permission.World {
	w := calmWorld()
	w.Disk, w.Enforced = func() permission.Disk { return stocked{} }, func() bool { return true }
	return w
}

// Attacks that run without approval where the sandbox enforces reads, for review: each is only held by the sandbox.
func TestAttacksEnforced(t *testing.T) {
	const file = "testdata/enforced_allowed.txt"
	w := enforcedWorld()
	var allowed []string
	for _, l := range corpus(t).Attacks {
		if permission.New(w, permission.Default).Judge(commandRequest(l.Text)).Verdict == tool.Allow {
			allowed = append(allowed, strings.ReplaceAll(l.Text, "\n", "⏎"))
		}
	}
	slices.Sort(allowed)
	allowed = slices.Compact(allowed)
	got := strings.Join(allowed, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs: review it, then run go test ./permission -run TestAttacksEnforced -update", file)
		for _, line := range allowed {
			if !strings.Contains("\n"+string(want), "\n"+line+"\n") {
				t.Errorf("newly allowed: %q", line)
			}
		}
	}
}

// Which files the sandbox hides.
func TestHides(t *testing.T) {
	rules, _, err := permission.ParseRules([]string{"Read(/conf/.env)", "Read(**/*.go)", "Read"}, []string{"Read(/asked)"}, []string{"Read(/private/**)", "Read(**/*.csv)", "Edit(/edit)", "Shell(x)", "Read(/logs/)"})
	if err != nil {
		t.Fatal(err)
	}
	p := permission.New(world(), permission.Default)
	p.SetRules(rules)
	for _, tt := range []struct {
		path    string
		tracked bool
		want    bool
	}{
		{"/README.md", false, false}, {"/.env", false, true}, {"/.env", true, false}, {"/a/b/server.pem", false, true}, {"/a/b/server.pem", true, false}, {"/conf/.env", false, false}, {"/conf2/.env", false, true},
		{"/.ssh/config", false, true}, {"/private/x", false, true}, {"/private/x/y", true, true}, {"/private", true, true}, {"/privates", false, false}, {"/a/b.csv", true, true}, {"/edit", false, false}, {"/asked", false, false},
		{"/logs/app.log", false, true}, {"/logs", false, true}, {"/main.go", false, false},
	} {
		asked := false
		if got := p.Hides(root+tt.path, func() bool { asked = true; return tt.tracked }); got != tt.want {
			t.Errorf("%s, tracked %v: %v, want %v", tt.path, tt.tracked, got, tt.want)
		}
		if strings.HasSuffix(tt.path, ".md") && asked {
			t.Errorf("%s: asks whether it is tracked", tt.path)
		}
	}
	if n := testing.AllocsPerRun(100, func() { p.Hides(root+"/src/deep/main_test.go", nil) }); n > 0 {
		t.Errorf("%v allocations for an ordinary name", n)
	}
	whole := permission.New(world(), permission.Default)
	all, _, _ := permission.ParseRules(nil, nil, []string{"Read"})
	whole.SetRules(all)
	if !whole.Hides(root+"/README.md", nil) {
		t.Error("deny Read: README.md isn't hidden")
	}
}

// Hides is asked again when rules change or an approval is remembered, and a remembered path isn't hidden.
func TestHidesChanges(t *testing.T) {
	p := permission.New(calmWorld(), permission.Default)
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
