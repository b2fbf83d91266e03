//go:build unix

package permission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// outside is a call of a tool from outside as its server describes it now.
func outside(print string) tool.Request {
	r := request(tool.Nothing)
	r.Declaration = tool.Declaration{Name: "hub__search", Origin: "mcp:hub", Fingerprint: print}
	return r
}

// A yes for good is to a tool as it is: what is offered and remembered holds its fingerprint.
func TestAlwaysHoldsForTheToolAsItIs(t *testing.T) {
	first, second := strings.Repeat("a1", 32), strings.Repeat("b2", 32)
	p := permission.New(world(), permission.Default)
	d := p.Judge(outside(first))
	offer := "hub__search(print:" + first[:40] + ")"
	if diff := cmp.Diff([]string{offer}, d.Offer); diff != "" {
		t.Error(diff)
	}
	if !p.Remember(outside(first), offer) || p.Judge(outside(first)).Verdict != tool.Allow {
		t.Error("it is not remembered")
	}
	d = p.Judge(outside(second))
	if want := "has effects that can't be known in advance (from mcp:hub), and the tool changed since you approved it (mode: default)"; d.Verdict != tool.Ask || d.Why() != want {
		t.Errorf("%v: %s", d.Verdict, d.Why())
	}
	if old := p.Outdated(outside(second)); old != first[:40] {
		t.Errorf("outdated is %q", old)
	}
	if p.Outdated(outside(first)) != "" {
		t.Error("the tool that was allowed is outdated")
	}
	other := outside(second)
	other.Declaration.Name, other.Declaration.Origin = "hub__other", "mcp:other"
	if p.Outdated(other) != "" {
		t.Error("another tool is outdated")
	}
	if p.Remember(outside(second), offer) {
		t.Error("what was not offered is kept")
	}
}

// A question that only a person answers, such as a server's own, offers no rule: it would allow the tool's calls.
func TestNoOfferWhereOnlyAPersonAnswers(t *testing.T) {
	p := permission.New(world(), permission.Default)
	r := outside(strings.Repeat("a1", 32))
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
		{"bound", []string{bound}, nil, nil, print, tool.Allow},
		{"the whole of it", []string{"hub__search(print:" + print + ")"}, nil, nil, print, tool.Allow},
		{"in Qwen's spelling", []string{"mcp__" + bound}, nil, nil, print, tool.Allow},
		{"changed", []string{bound}, nil, nil, strings.Repeat("0e", 32), tool.Ask},
		{"one that has none", []string{bound}, nil, nil, "", tool.Ask},
		{"by hand", []string{"hub__search"}, nil, nil, print, tool.Allow},
		{"the server by hand", []string{"mcp__hub"}, nil, nil, print, tool.Allow},
		{"by hand, beside one that is outdated", []string{bound, "hub__*"}, nil, nil, strings.Repeat("0e", 32), tool.Allow},
		{"asked about whatever it is", []string{"hub__search"}, []string{bound}, nil, strings.Repeat("0e", 32), tool.Ask},
		{"denied whatever it is", []string{"hub__search"}, nil, []string{bound}, strings.Repeat("0e", 32), tool.Deny},
	} {
		rules, ignored, err := permission.ParseRules(c.allow, c.ask, c.deny)
		if err != nil || len(ignored) > 0 {
			t.Fatalf("%s: %v %v", c.name, err, ignored)
		}
		p := permission.New(world(), permission.Default)
		p.SetRules(rules)
		if d := p.Judge(outside(c.print)); d.Verdict != c.want {
			t.Errorf("%s: %v: %s", c.name, d.Verdict, d.Reason)
		}
	}
	// Few digits could be met on purpose.
	for _, bad := range []string{"hub__search(print:)", "hub__search(print:0f0f)", "hub__search(print:" + strings.Repeat("0G", 20) + ")"} {
		if _, ignored, err := permission.ParseRules([]string{bad}, nil, nil); err != nil || len(ignored) != 1 {
			t.Errorf("%s: %v %v", bad, ignored, err)
		}
	}
	// A built-in tool has no fingerprint, and none speaks for it.
	r := request(writes(root + "/a"))
	rules, _, err := permission.ParseRules([]string{"WriteFile(print:" + print + ")"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := permission.New(world(), permission.Default)
	p.SetRules(rules)
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
		"Shell(make test:*)\nShell(go vet:*)":        "",
	} {
		if got := permission.Extent(offer); got != want {
			t.Errorf("%s: %q, want %q", offer, got, want)
		}
	}
}
