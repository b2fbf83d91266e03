package session

import (
	"fmt"
	"slices"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// selectTools reads which tools settings remove: those in tools.exclude and tools.disabled, and built-in ones that are
// not in tools.core.
func (s *Session) selectTools() error {
	t := s.Settings.Tools
	exclude, err := permission.Excluding(settings.Texts(t.Exclude))
	if err != nil {
		return errorf(ErrRules, "read settings: tools.exclude: %v", err)
	}
	disabled, err := permission.Excluding(settings.Texts(t.Disabled))
	if err != nil {
		return errorf(ErrRules, "read settings: tools.disabled: %v", err)
	}
	if t.Core != nil {
		if s.core, err = permission.ReadCore(written(t.Core)); err != nil {
			return errorf(ErrRules, "read settings: tools.core: %v", err)
		}
		if len(t.Core) == 0 {
			s.env.warn("tools.core is an empty list: the model gets no built-in tools")
		}
	}
	s.out = func(d tool.Declaration) bool {
		return exclude(d) || disabled(d) || s.core != nil && !s.core.Has(d) && !d.Auxiliary
	}
	return nil
}

// Restricted denies a call of a tool that tools.core or tools.disabled removes, and one that specifiers in tools.core don't
// cover. It allows all others.
func Restricted(t settings.Tools, w permission.World, r tool.Request) (tool.Decision, error) {
	disabled, err := permission.Excluding(settings.Texts(t.Disabled))
	if err != nil {
		return tool.Decision{}, errorf(ErrRules, "read settings: tools.disabled: %v", err)
	}
	if disabled(r.Declaration) {
		return tool.Decision{Reason: "tools.disabled removes " + r.Declaration.Name}, nil
	}
	if t.Core == nil {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	core, err := permission.ReadCore(written(t.Core))
	if err != nil {
		return tool.Decision{}, errorf(ErrRules, "read settings: tools.core: %v", err)
	}
	if !core.Has(r.Declaration) && !r.Declaration.Auxiliary {
		return tool.Decision{Reason: r.Declaration.Name + " is not in tools.core"}, nil
	}
	if judge := core.Policy(w); judge != nil {
		return judge(r), nil
	}
	return tool.Decision{Verdict: tool.Allow}, nil
}

// judge is the policy of the session's calls: the rules and the mode, and what specifiers in tools.core allow.
func (s *Session) judge() tool.Policy {
	if s.core == nil {
		return s.Policy.Judge
	}
	return tool.Stricter(s.Policy.Judge, s.core.Policy(s.world))
}

// Removed is the setting that removes a tool.
type Removed struct {
	Key  string // "tools.exclude"
	Text string // the entry; "" for tools.core, which has none
	From settings.Place
}

// Removes returns the setting that removes the built-in tool of this name; false if none does.
func (s *Session) Removes(name string) (Removed, bool) {
	t, err := tool.NewRegistry(s.tools.All()...).Lookup(name)
	if err != nil || !s.out(t.Declaration()) {
		return Removed{}, false
	}
	for i, e := range slices.Concat(s.Settings.Tools.Exclude, s.Settings.Tools.Disabled) {
		if out, err := permission.Excluding([]string{e.Text}); err == nil && out(t.Declaration()) {
			key := "tools.exclude"
			if i >= len(s.Settings.Tools.Exclude) {
				key = "tools.disabled"
			}
			return Removed{key, e.Text, e.From}, true
		}
	}
	_, from := s.Settings.Value("tools.core")
	return Removed{Key: "tools.core", From: from[0]}, true
}

// unknownTools describes the entries of tools.core and tools.disabled that name no tool.
func (s *Session) unknownTools(tools []tool.Declaration) []string {
	var unused []tool.Rule
	if s.core != nil {
		unused = s.core.Unused(tools)
	}
	disabled, err := permission.ReadCore(written(s.Settings.Tools.Disabled))
	if err == nil && s.Settings.Tools.DiscoveryCommand == "" {
		for _, r := range disabled.Unused(tools) {
			r.List = "tools.disabled"
			unused = append(unused, r)
		}
	}
	var out []string
	for _, r := range unused {
		at := ""
		if r.Source != "" {
			at = r.Source + ": "
		}
		out = append(out, fmt.Sprintf("%s%s: unknown tool %q. This entry has no effect.%s", at, r.List, r.Text, didYouMean(r.Text, permission.ToolNames(tools))))
	}
	return out
}
