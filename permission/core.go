package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/tool"
)

// Core is the list of all built-in tools that a session has. An entry with a specifier, such as "Shell(git:*)", also
// limits the calls of its tool. External tools are not affected.
type Core struct{ rules []*rule }

// coreList is the name of the list.
const coreList = "tools.core"

// ReadCore reads the list.
func ReadCore(entries []Written) (*Core, error) {
	rules, wrong := parseAll(coreList, entries)
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%q: %w", wrong[0].Rule, wrong[0].Err)
	}
	return &Core{rules}, nil
}

// Has reports whether a tool is in the list. External tools always are.
func (c *Core) Has(d tool.Declaration) bool {
	return d.Origin != "" || slices.ContainsFunc(c.rules, func(r *rule) bool { return r.excludes(&d) })
}

// Unused lists the entries that name none of the tools. Names of MCP servers' tools are not among them.
func (c *Core) Unused(tools []tool.Declaration) []tool.Rule {
	var out []tool.Rule
	for _, r := range c.rules {
		if !strings.Contains(r.name, "__") &&
			!slices.ContainsFunc(tools, func(d tool.Declaration) bool { return r.excludes(&d) }) {
			out = append(out, r.cite(false))
		}
	}
	return out
}

// Policy denies the calls that no specifier covers, of tools that are only listed with one; nil if there are none.
func (c *Core) Policy(w World) tool.Policy {
	if !slices.ContainsFunc(c.rules, func(r *rule) bool { return !r.whole }) {
		return nil
	}
	w = w.filled()
	return func(r tool.Request) tool.Decision {
		var specs []*rule
		for _, u := range c.rules {
			switch {
			case r.Declaration.Origin != "" || !u.excludes(&r.Declaration):
			case u.whole:
				return tool.Decision{Verdict: tool.Allow}
			default:
				specs = append(specs, u)
			}
		}
		e := engine{world: w, mode: Default, onlyRules: true, rules: Rules{allow: specs}.in(w)}.begin()
		all := accesses(r)
		if f, ok := r.Confirm.(tool.Effects); ok { // the effects of a trial: the specifiers apply to the command
			all = []tool.Access{{Verb: tool.Execs, Target: f.Command.Line}}
		}
		for _, a := range all {
			if len(specs) > 0 && !e.within(&r, a) {
				return outsideCore(specs)
			}
		}
		return tool.Decision{Verdict: tool.Allow}
	}
}

// within reports whether allow rules cover an access, independent of the mode.
func (e *engine) within(r *tool.Request, a tool.Access) bool {
	switch a.Verb {
	case tool.Execs:
		return e.command(r, a).verdict == tool.Allow
	case tool.Reads, tool.Writes, tool.Reaches:
		f := e.world.look(a)
		return slices.ContainsFunc(e.rules.allow, func(u *rule) bool { return covers(u, r, a, &f) })
	}
	return a != tool.Anything // only orders calls
}

func outsideCore(specs []*rule) tool.Decision {
	d := tool.Decision{Verdict: tool.Deny, Cause: tool.Cause{Kind: tool.ByRule}, Reason: "not covered"}
	for _, u := range specs {
		d.Cause.Rules = append(d.Cause.Rules, u.cite(false))
	}
	return d
}

// Excluding returns a function that reports whether rules exclude a tool as a whole: "Shell", "run_shell_command",
// "mcp__github", "github__*". A rule with a specifier, such as "Shell(rm)", excludes none, and "Edit" excludes every
// built-in tool that edits files.
func Excluding(rules []string) (func(tool.Declaration) bool, error) {
	var whole []*rule
	for _, text := range rules {
		r, err := parseRule(text, true)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		if r.whole {
			whole = append(whole, r)
		}
	}
	return func(d tool.Declaration) bool {
		return slices.ContainsFunc(whole, func(r *rule) bool { return r.excludes(&d) })
	}, nil
}

func (r *rule) excludes(d *tool.Declaration) bool {
	switch {
	case d.Origin != "":
		return r.ofTool(d, false)
	case r.verb == writing:
		return d.Kind == tool.Edit
	}
	return r.calls(d)
}
