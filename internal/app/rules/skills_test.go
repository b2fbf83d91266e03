package rules

import (
	"errors"
	"testing"

	"github.com/adze-dev/adze/tool"
)

// A loaded skill turns approvals into questions until its turn succeeds, and never the other way.
func TestSkillsNarrow(t *testing.T) {
	t.Parallel()
	listed := func(r tool.Request) tool.Decision {
		if r.Declaration.Name == "listed" {
			return tool.Decision{Verdict: tool.Allow}
		}
		return tool.Decision{}
	}
	l := &skillLimits{all: []skillLimit{{"pdf", listed}}}
	judged := func(name, origin string, access tool.Access, base tool.Decision) tool.Decision {
		return l.narrow(func(tool.Request) tool.Decision { return base })(tool.Request{
			Declaration: tool.Declaration{Name: name, Origin: origin}, Invocation: tool.Invocation{Access: []tool.Access{access}},
		})
	}
	write, read := tool.Access{Verb: tool.Writes, Target: "/f"}, tool.Access{Verb: tool.Reads, Target: "/f"}
	allow, ask, plan := tool.Decision{Verdict: tool.Allow}, tool.Decision{Verdict: tool.Ask, Try: true}, tool.Decision{
		Verdict: tool.Ask, Cause: tool.Cause{Kind: tool.ByMode, Mode: "plan"},
	}
	for _, c := range []struct {
		name, origin string
		access       tool.Access
		base         tool.Decision
		want         tool.Verdict
		narrowed     bool
	}{
		{"listed", "", write, allow, tool.Allow, false},
		{"listed", "", write, ask, tool.Ask, false},
		{"listed", "", write, tool.Decision{}, tool.Deny, false},
		{"other", "", write, allow, tool.Ask, true},
		{"other", "", write, ask, tool.Ask, true},
		{"other", "", write, plan, tool.Ask, false},
		{"other", "", write, tool.Decision{}, tool.Deny, false},
		{"other", "", read, allow, tool.Allow, false},
		{"other", "", tool.Nothing, allow, tool.Allow, false},
		{"other", "mcp:x", read, allow, tool.Ask, true},
	} {
		d := judged(c.name, c.origin, c.access, c.base)
		if d.Verdict != c.want || (d.Cause.Kind == tool.ByMustAsk) != c.narrowed || c.narrowed && d.Try {
			t.Errorf("%+v: %+v", c, d)
		}
	}
	l.release(errors.New("interrupted"))
	if judged("other", "", write, allow).Verdict != tool.Ask {
		t.Error("a turn that failed isn't narrowed any longer")
	}
	l.release(nil)
	if judged("other", "", write, allow).Verdict != tool.Allow {
		t.Error("the next turn is narrowed")
	}
}
