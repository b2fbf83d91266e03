package permission_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// connecting is a request of a command to connect to a target.
func connecting(target string) tool.Request {
	return tool.Request{
		Declaration: tool.Declaration{Name: "run_shell_command", DisplayName: "Shell", Kind: tool.Execute},
		Invocation:  tool.Invocation{Access: []tool.Access{{Verb: tool.Reaches, Target: target}}},
	}
}

func networkPolicy(t *testing.T, mode permission.Mode, allow, ask, deny []string) *permission.Policy {
	t.Helper()
	rules, ignored, err := permission.ParseRules(allow, ask, deny)
	if err != nil || len(ignored) > 0 {
		t.Fatal(err, ignored)
	}
	p := permission.New(permission.World{}, mode)
	p.SetRules(rules)
	return p
}

func TestNetworkRules(t *testing.T) {
	allow := []string{"Network(registry.example.com)", "Network(*.cdn.example.com:443)", "Network(db.example.com:5432)",
		"Network(10.0.0.0/8)", "Network([2001:db8::]:443)", "Network(both.example.com)", "Shell", "WebFetch(domain:web.example.com)"}
	ask := []string{"Network(both.example.com)"}
	deny := []string{"Network(*.evil.example.com)", "Network(bad.cdn.example.com)", "Network(10.9.0.0/16)"}
	p := networkPolicy(t, permission.Default, allow, ask, deny)
	for target, want := range map[string]tool.Verdict{
		"registry.example.com:443": tool.Allow, "registry.example.com:80": tool.Allow, "registry.example.com:22": tool.Ask,
		"a.registry.example.com:443": tool.Ask, "example.com:443": tool.Ask, "xregistry.example.com:443": tool.Ask,
		"a.b.cdn.example.com:443": tool.Allow, "a.cdn.example.com:80": tool.Ask, "cdn.example.com:443": tool.Ask,
		"xcdn.example.com:443": tool.Ask, "bad.cdn.example.com:443": tool.Deny, "db.example.com:5432": tool.Allow,
		"db.example.com:443": tool.Ask, "10.1.2.3:443": tool.Allow, "10.1.2.3:5432": tool.Ask, "10.9.2.3:443": tool.Deny,
		"10.9.2.3:1": tool.Deny, "[2001:db8::]:443": tool.Allow, "[2001:db8::1]:443": tool.Ask, "x.evil.example.com:9": tool.Deny,
		"both.example.com:443": tool.Ask, "web.example.com:443": tool.Ask,
	} {
		if d := p.Judge(connecting(target)); d.Verdict != want {
			t.Errorf("%s: %v (%s), want %v", target, d.Verdict, d.Why(), want)
		}
	}
	for target, want := range map[string][]string{
		"new.example.com:443": {"Network(new.example.com)"}, "new.example.com:22": {"Network(new.example.com:22)"},
		"192.0.2.1:80": {"Network(192.0.2.1)"}, "[2001:db8::7]:22": {"Network([2001:db8::7]:22)"}, "both.example.com:443": nil,
	} {
		if d := p.Judge(connecting(target)); !slices.Equal(d.Offer, want) {
			t.Errorf("%s: offers %q, want %q", target, d.Offer, want)
		}
	}
	r := connecting("new.example.com:443")
	if !p.Remember(r, "Network(new.example.com)") || p.Judge(r).Verdict != tool.Allow {
		t.Error("an approval for the session isn't remembered")
	}
}

// Plan mode has no network, and a deny rule holds for fetches too. An allow rule on commands doesn't allow fetches.
func TestNetworkAndModes(t *testing.T) {
	rules := []string{"Network(a.example.com)"}
	for mode, want := range map[permission.Mode]tool.Verdict{
		permission.Plan: tool.Deny, permission.Default: tool.Allow, permission.AutoEdit: tool.Allow, permission.Yolo: tool.Allow,
	} {
		if d := networkPolicy(t, mode, rules, nil, nil).Judge(connecting("a.example.com:443")); d.Verdict != want {
			t.Errorf("%s: %v", mode, d.Verdict)
		}
	}
	if d := networkPolicy(t, permission.Yolo, nil, rules, nil).Judge(connecting("a.example.com:443")); d.Verdict != tool.Ask {
		t.Errorf("an ask rule in yolo mode: %v", d.Verdict)
	}
	if d := networkPolicy(t, permission.Yolo, nil, nil, nil).Judge(connecting("a.example.com:443")); d.Verdict != tool.Ask {
		t.Errorf("yolo mode, no rule: got %v, want ask", d.Verdict)
	}
	fetch := connecting("a.example.com")
	fetch.Declaration = tool.Declaration{Name: "web_fetch", DisplayName: "WebFetch", Kind: tool.Fetch}
	if d := networkPolicy(t, permission.Default, rules, nil, nil).Judge(fetch); d.Verdict != tool.Ask {
		t.Errorf("a rule for commands decides about a fetch: %v", d.Verdict)
	}
	if d := networkPolicy(t, permission.Yolo, nil, nil, rules).Judge(fetch); d.Verdict != tool.Deny {
		t.Errorf("a denied host can be fetched: %v", d.Verdict)
	}
}

func TestNetworkAddresses(t *testing.T) {
	p := networkPolicy(t, permission.Default, []string{"Network", "Network(inner.example.com)", "Network(10.0.0.0/8)", "Network(127.0.0.1:8080)"},
		[]string{"Network(10.5.0.0/16)"}, []string{"Network(10.9.0.0/16)"})
	for addr, want := range map[string]string{
		"10.1.1.1:443": "allow", "10.1.1.1:22": "", "10.5.1.1:443": "ask", "10.9.1.1:443": "deny", "127.0.0.1:8080": "allow",
		"127.0.0.1:80": "", "192.168.1.1:443": "", "[::ffff:10.9.1.1]:443": "deny",
	} {
		v, _, ok := p.Address(netip.MustParseAddrPort(addr))
		if got := v.String(); ok && got != want || !ok && want != "" {
			t.Errorf("%s: %v, %v, want %q", addr, v, ok, want)
		}
	}
}

func TestInvalidNetworkRules(t *testing.T) {
	for _, rule := range []string{"Network(https://a.example.com)", "Network(a.example.com:0)", "Network(a.example.com:)", "Network(10.0.0.0/40)",
		"Network(a..example.com)", "Network(*example.com)", "Network(a b)", "Network([::1)", "Network([::1]x)", "Network(1.2.3)", "Network(a.example.com:99999)"} {
		if _, ignored, _ := permission.ParseRules([]string{rule}, nil, nil); len(ignored) != 1 {
			t.Errorf("%s is valid", rule)
		}
	}
	rules, ignored, err := permission.ParseRules([]string{"Network(registries)", "Network(*)"}, nil, nil)
	if err != nil || len(ignored) > 0 || len(rules.Unused(nil)) > 0 {
		t.Error(err, ignored, rules.Unused(nil))
	}
}
