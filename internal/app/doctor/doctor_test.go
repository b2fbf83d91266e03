package doctor

import (
	"bytes"
	"testing"

	"github.com/adze-dev/adze/internal/engine/proc/sandbox"
)

func TestReportCountsProblems(t *testing.T) {
	for _, c := range []struct {
		do   func(*Report)
		want string
	}{
		{func(c *Report) { c.section("a"); c.ok("works"); c.plain("is so"); c.brief("fine") }, "a\n  ✓ works\n    is so\n\nNo problems found.\n"},
		{func(c *Report) {
			c.section("a")
			c.ok("works")
			c.usual("is so")
			c.brief("fine")
			c.section("b")
			c.plain("b: off")
		}, "✓ a: fine\n  b: off\n\nNo problems found.\n"},
		{func(c *Report) { c.section("a"); c.bad("no model\nSet one of:\n  X\n"); c.brief("fine") }, "a\n  ✗ no model\n    Set one of:\n      X\n\n1 problem found.\n"},
		{func(c *Report) { c.section("a"); c.warn("unknown \x1b[2J"); c.bad("b") }, "a\n  ! unknown \\x1b[2J\n  ✗ b\n\n2 problems found.\n"},
	} {
		var out bytes.Buffer
		r := &Report{w: &out}
		c.do(r)
		r.End()
		if out.String() != c.want {
			t.Errorf("got %q, want %q", out.String(), c.want)
		}
	}
}

// Each layer and each mode of the sandbox has a mark; a layer that isn't selected isn't a problem.
func TestReportOfTheSandbox(t *testing.T) {
	var out bytes.Buffer
	c := &Report{w: &out}
	c.sandbox(sandbox.Support{LandlockWhy: "no Landlock", SeccompWhy: "no seccomp", NamespacesWhy: "no namespaces", BubblewrapWhy: "no bwrap"}, false)
	c.section("")
	for _, want := range []string{
		"  ✗ Landlock: no Landlock\n", "  ✗ seccomp: no seccomp\n", "  ✗ namespaces: no namespaces\n", "    bubblewrap (optional): no bwrap\n", "  ! reads of commands that aren't approved or tried are judged, not enforced", "    workspace mode: commands reach Unix sockets of other programs\n",
		"  ✗ read-only: none; No sandbox is available", "  ✗ workspace: none; No sandbox",
	} {
		if !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if c.problems != 7 {
		t.Errorf("%d problems, want 7:\n%s", c.problems, out.String())
	}
}
