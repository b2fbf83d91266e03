package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/nearest"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// limits are the tools that settings remove.
type limits struct {
	exclude, disabled func(tool.Declaration) bool
	core              *permission.Core // the only built-in tools; nil: all
}

// readLimits reads tools.exclude, tools.disabled and tools.core.
func readLimits(t settings.Tools) (l limits, err error) {
	if l.exclude, err = permission.Excluding(settings.Texts(t.Exclude)); err != nil {
		return l, project.Errorf(project.ErrRules, "read settings: tools.exclude: %v", err)
	}
	if l.disabled, err = permission.Excluding(settings.Texts(t.Disabled)); err != nil {
		return l, project.Errorf(project.ErrRules, "read settings: tools.disabled: %v", err)
	}
	if t.Core != nil {
		if l.core, err = permission.ReadCore(written(t.Core)); err != nil {
			return l, project.Errorf(project.ErrRules, "read settings: tools.core: %v", err)
		}
	}
	return l, nil
}

// outside reports whether tools.core doesn't have a tool.
func (l limits) outside(d tool.Declaration) bool {
	return l.core != nil && !l.core.Has(d) && !d.Auxiliary
}

// removes reports whether settings remove a tool.
func (l limits) removes(d tool.Declaration) bool {
	return l.exclude(d) || l.disabled(d) || l.outside(d)
}

// Restricted denies a call of a tool that tools.core or tools.disabled removes, and one that specifiers in tools.core
// don't cover. It allows all others.
func Restricted(t settings.Tools, w permission.World, r tool.Request) (tool.Decision, error) {
	l, err := readLimits(t)
	switch d := r.Declaration; {
	case err != nil:
		return tool.Decision{}, err
	case l.disabled(d):
		return tool.Decision{Reason: "tools.disabled removes " + d.Name}, nil
	case l.outside(d):
		return tool.Decision{Reason: d.Name + " is not in tools.core"}, nil
	}
	if l.core != nil {
		if judge := l.core.Policy(w); judge != nil {
			return judge(r), nil
		}
	}
	return tool.Decision{Verdict: tool.Allow}, nil
}

// Removal is the setting that removes a tool.
type Removal struct {
	Key  string // "tools.exclude"
	Text string // the entry; "" for tools.core, which has none
	From settings.Place
}

// Removes returns the setting that removes the one of these tools that has a name; false if none does.
func (r *Rules) Removes(tools []tool.Tool, name string) (Removal, bool) {
	t, err := tool.NewRegistry(tools...).Lookup(name)
	if err != nil || !r.limits.removes(t.Declaration()) {
		return Removal{}, false
	}
	for i, e := range slices.Concat(r.settings.Tools.Exclude, r.settings.Tools.Disabled) {
		if out, err := permission.Excluding([]string{e.Text}); err == nil && out(t.Declaration()) {
			key := "tools.exclude"
			if i >= len(r.settings.Tools.Exclude) {
				key = "tools.disabled"
			}
			return Removal{key, e.Text, e.From}, true
		}
	}
	_, from := r.settings.Value("tools.core")
	return Removal{Key: "tools.core", From: from[0]}, true
}

// unknownTools describes the entries of toolr.limits.core and tools.disabled that name no tool.
func (r *Rules) unknownTools(tools []tool.Declaration) []string {
	var unused []tool.Rule
	if r.limits.core != nil {
		unused = r.limits.core.Unused(tools)
	}
	disabled, err := permission.ReadCore(written(r.settings.Tools.Disabled))
	if err == nil && r.settings.Tools.DiscoveryCommand == "" {
		for _, one := range disabled.Unused(tools) {
			one.List = "tools.disabled"
			unused = append(unused, one)
		}
	}
	var out []string
	for _, u := range unused {
		at := ""
		if u.Source != "" {
			at = u.Source + ": "
		}
		out = append(out, fmt.Sprintf("%s%s: unknown tool %q. This entry has no effect.%s", at, u.List, u.Text,
			nearest.Hint(u.Text, permission.ToolNames(tools))))
	}
	return out
}

// unknownRules describes the rules that name no tool: a mistyped deny rule protects nothing. Tools of a discovery
// command aren't known yet, and neither are those of an MCP server: only the server's name is checked.
func (r *Rules) unknownRules(rules permission.Rules, tools []tool.Declaration) []string {
	var out []string
	for _, u := range rules.Unused(tools) {
		name, _, _ := strings.Cut(u.Text, "(")
		name = strings.TrimSpace(name)
		if server, ok := serverOf(name); ok && (server == "*" || r.hasServer(server)) {
			continue
		}
		if r.settings.Tools.DiscoveryCommand != "" && strings.ToLower(name) == name {
			continue
		}
		at := ""
		if u.Source != "" {
			at = u.Source + ": "
		}
		out = append(out, fmt.Sprintf("%spermissions.%s: unknown tool %q in %q. This rule has no effect.%s", at, u.List,
			name, u.Text, nearest.Hint(name, permission.ToolNames(tools))))
	}
	return out
}

// serverOf returns the MCP server in a rule's name: github__search, mcp__github, mcp__github__search.
func serverOf(name string) (string, bool) {
	rest, mcp := strings.CutPrefix(name, "mcp__")
	server, _, of := strings.Cut(rest, "__")
	return server, mcp || of
}

// hasServer reports whether settings or a plugin have a server of this name, or an untrusted project may have one.
func (r *Rules) hasServer(alias string) bool {
	_, ok := r.settings.MCP.Servers[alias]
	for _, p := range r.plugins {
		_, has := p.Servers[alias]
		ok = ok || has
	}
	return ok || slices.ContainsFunc(r.settings.Withheld(),
		func(w settings.Withheld) bool { return strings.HasPrefix(w.Key, "mcp") })
}
