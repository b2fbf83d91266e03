package agent

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/tool"
)

//go:embed subagent.md
var subagentText string

// Role is a sort of sub-agent. It can only take away from what its parent may do, never add.
type Role struct {
	Name        string
	Description string      // when to use it
	Prompt      string      // who it is, beside what every sub-agent is told
	Tools       []string    // names under any of those that tools declare, "server__*" for all that begin so; nil: all of its parent's
	Without     []string    // likewise: what it is not given all the same
	Kinds       []tool.Kind // of built-in tools; nil: all
	ReadOnly    bool        // what would change something is refused; commands are judged as in plan mode, if there are modes
	Mode        string      // a stricter approval mode than its parent's; ""
	Model       string      // the name of another model; ""
	Turns       int         // at most; 0: the crew's
}

// DefaultRole is the name of the role of a task that names none.
const DefaultRole = "general-purpose"

// Roles are the roles that are built in.
func Roles() []Role {
	return []Role{
		{
			Name:        DefaultRole,
			Description: "for any task, with all your tools",
		},
		{
			Name:        "explore",
			Description: "read-only; finds things in files and pages and answers questions",
			Prompt:      "You only look: you change nothing. Search widely first, then read what matters. Be quick: several searches go into one answer.",
			Kinds:       []tool.Kind{tool.Read, tool.Search, tool.Think, tool.Fetch, tool.Execute},
			ReadOnly:    true,
		},
	}
}

// AllRoles are the given roles and the built-in ones that they do not hide; of one name the first counts.
func AllRoles(more []Role) []Role {
	var all []Role
	for _, r := range append(slices.Clone(more), Roles()...) {
		if findRole(all, r.Name) == nil {
			all = append(all, r)
		}
	}
	return all
}

func findRole(roles []Role, name string) *Role {
	for i := range roles {
		if strings.EqualFold(roles[i].Name, name) {
			return &roles[i]
		}
	}
	return nil
}

// system is what a sub-agent is told beside what its parent was told.
func (r Role) system(base, name string) string {
	parts := []string{strings.TrimSpace(base), strings.ReplaceAll(strings.TrimSpace(subagentText), "{{name}}", name), strings.TrimSpace(r.Prompt)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n") + "\n"
}

// looking judges commands by a policy that knows which of them only look, and all else by what it touches. Who explores
// wants git log, too.
func looking(commands tool.Policy) tool.Policy {
	return func(r tool.Request) tool.Decision {
		if slices.ContainsFunc(r.Access, func(a tool.Access) bool { return a.Verb == tool.Execs }) {
			return commands(r)
		}
		return lookOnly(r)
	}
}

// lookOnly refuses what may change something.
func lookOnly(r tool.Request) tool.Decision {
	for _, a := range r.Access {
		if a.Changes() {
			return tool.Decision{Reason: fmt.Sprintf("this sub-agent is read-only, and the call %s %s", a.Verb, a.Target)}
		}
	}
	return tool.Decision{Verdict: tool.Allow}
}

// tools is the part of the parent's tools that the role has. unknown are names of the role that are no tool.
func (r Role) tools(parent *tool.Registry, withheld func(tool.Declaration) bool) (own *tool.Registry, unknown []string, err error) {
	used := map[string]bool{}
	byOrigin := map[string][]tool.Tool{}
	own = &tool.Registry{}
	origins := []string{""}
	for _, d := range parent.All() {
		if withheld(d) || r.without(d, used) || !r.wants(d, used) {
			continue
		}
		t, err := parent.Lookup(d.Name)
		if err != nil {
			continue // it has gone since
		}
		if !slices.Contains(origins, d.Origin) {
			origins = append(origins, d.Origin)
		}
		byOrigin[d.Origin] = append(byOrigin[d.Origin], t)
	}
	for _, origin := range origins {
		if err := own.Set(origin, byOrigin[origin]); err != nil {
			return nil, nil, err
		}
	}
	return own, r.unused(used), nil
}

// Unknown are the names in the role that stand for none of these tools.
func (r Role) Unknown(tools []tool.Declaration) []string {
	used := map[string]bool{}
	for _, d := range tools {
		r.wants(d, used)
		r.without(d, used)
	}
	return r.unused(used)
}

func (r Role) unused(used map[string]bool) []string {
	var unknown []string
	for _, name := range slices.Concat(r.Tools, r.Without) {
		if !used[name] {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// without reports whether the role leaves the tool out by name. A name with a condition leaves out all of it, which is
// more than was meant, and never less.
func (r Role) without(d tool.Declaration, used map[string]bool) bool {
	out := false
	for _, name := range r.Without {
		if plain, _, _ := strings.Cut(name, "("); names(d, plain) {
			out, used[name] = true, true
		}
	}
	return out
}

// wants reports whether the role has the tool, and notes the name it has it by.
func (r Role) wants(d tool.Declaration, used map[string]bool) bool {
	if r.Kinds != nil && (d.Origin != "" || !slices.Contains(r.Kinds, d.Kind)) {
		return false
	}
	if r.Tools == nil {
		return true
	}
	wanted := false
	for _, name := range r.Tools {
		if names(d, name) {
			wanted, used[name] = true, true
		}
	}
	return wanted
}

// names reports whether a name stands for the tool: any of those that it declares, also as the files of other programs
// write them ("Bash", "mcp__github__search"), or "server__*" for all that begin so. A name with a condition, as in
// "Bash(git *)", stands for none: the tool without the condition would be more than was meant.
func names(d tool.Declaration, name string) bool {
	if d.Origin != "" {
		name = strings.TrimPrefix(name, "mcp__")
		if server, ok := strings.CutPrefix(d.Origin, "mcp:"); ok && name == server {
			return true
		}
	}
	if begin, ok := strings.CutSuffix(name, "*"); ok && begin != "" {
		return strings.HasPrefix(d.Name, begin)
	}
	all := slices.Concat([]string{d.Name, d.Title(), d.Title() + "Tool"}, d.Aliases, d.RuleNames)
	return slices.ContainsFunc(all, func(known string) bool { return strings.EqualFold(name, known) })
}
