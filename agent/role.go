package agent

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adze-dev/adze/tool"
)

//go:embed subagent.md
var subagentText string

// Role is a type of subagent. It can only restrict what its parent may do, never extend it.
type Role struct {
	Name        string
	Description string      // when to use it
	Prompt      string      // instructions, added to those of every subagent
	Tools       []string    // any names that tools declare, or "server__*" for a prefix; nil: all of its parent's
	Without     []string    // likewise: tools that it does not get
	Kinds       []tool.Kind // of built-in tools; nil: all
	// calls that modify something are denied; commands are judged as in plan mode, if there are modes
	ReadOnly bool
	Mode     string        // a stricter approval mode than its parent's; ""
	Model    string        // the name of another model; ""
	Turns    int           // maximum; 0: the crew's
	Wall     time.Duration // maximum; 0: none
}

// DefaultRole is the role of a task that names none.
const DefaultRole = "general-purpose"

// Roles returns the built-in roles.
func Roles() []Role {
	return []Role{
		{
			Name:        DefaultRole,
			Description: "any task, with all your tools",
		},
		{
			Name:        "explore",
			Description: "read-only; searches files and web pages and answers questions",
			Prompt: "You are read-only. Search broadly first, then read the relevant files. Run independent " +
				"searches in parallel.",
			Kinds:    []tool.Kind{tool.Read, tool.Search, tool.Think, tool.Fetch, tool.Execute},
			ReadOnly: true,
		},
	}
}

// AllRoles returns the given roles and the built-in ones that they do not replace. Of two roles with one name it keeps
// the first.
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

// system returns the system prompt of a subagent: that of its parent with additions.
func (r Role) system(base, name string) string {
	parts := []string{strings.TrimSpace(base), strings.ReplaceAll(strings.TrimSpace(subagentText), "{{name}}", name),
		strings.TrimSpace(r.Prompt)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n") + "\n"
}

// looking judges commands by a policy that knows read-only commands, such as git log, and other calls by their access.
func looking(commands tool.Policy) tool.Policy {
	return func(r tool.Request) tool.Decision {
		if slices.ContainsFunc(r.Access, func(a tool.Access) bool { return a.Verb == tool.Execs }) {
			return commands(r)
		}
		return lookOnly(r)
	}
}

// lookOnly denies calls that may modify something.
func lookOnly(r tool.Request) tool.Decision {
	for _, a := range r.Access {
		if a.Changes() {
			return tool.Decision{Reason: fmt.Sprintf("this subagent is read-only, and the call %s %s", a.Verb,
				a.Target)}
		}
	}
	return tool.Decision{Verdict: tool.Allow}
}

// tools returns the parent's tools that the role has, and the names in the role that are not tools.
func (r Role) tools(parent *tool.Registry, withheld func(tool.Declaration) bool) (own *tool.Registry, unknown []string,
	err error) {
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
			continue // it was removed since
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

// Unknown returns the names in the role that match none of these tools.
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

// without reports whether the role excludes the tool by name. A name with a condition excludes the whole tool.
func (r Role) without(d tool.Declaration, used map[string]bool) bool {
	out := false
	for _, name := range r.Without {
		if plain, _, _ := strings.Cut(name, "("); names(d, plain) {
			out, used[name] = true, true
		}
	}
	return out
}

// wants reports whether the role has the tool, and records the name that matched.
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

// names reports whether a name matches the tool: any name that it declares, also as other programs write it ("Bash",
// "mcp__github__search"), or a prefix such as "server__*". A name with a condition, such as "Bash(git *)", matches
// none: the tool without the condition would be more than was granted.
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
