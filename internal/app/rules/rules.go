// Package rules has the permission rules of a run, of its settings and of the user for this session, and the tools that
// settings remove.
package rules

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/app/plugin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Rules are the rules of a run.
type Rules struct {
	directory project.Directory
	settings  *settings.Settings
	plugins   []*plugin.Plugin
	limits    limits
	world     permission.World
	policy    *permission.Policy
	skills    skillLimits

	mu  sync.Mutex
	own map[string][]permission.Written // that the user added for the session, by list
}

// Read reads which tools settings remove: those in tools.exclude and tools.disabled, and built-in ones that are not in
// tools.core.
func Read(d project.Directory, set *settings.Settings, plugins []*plugin.Plugin) (*Rules, error) {
	l, err := readLimits(set.Tools)
	if err != nil {
		return nil, err
	}
	if set.Tools.Core != nil && len(set.Tools.Core) == 0 {
		d.Env.Warn("tools.core is an empty list: the model gets no built-in tools")
	}
	return &Rules{directory: d, settings: set, plugins: plugins, limits: l}, nil
}

// Removed reports whether settings remove a tool.
func (r *Rules) Removed(d tool.Declaration) bool { return r.limits.removes(d) }

// Open makes the policy of the rules in settings. warn gets descriptions of those without an effect. An invalid deny or
// ask rule is an error.
func (r *Rules) Open(w permission.World, tools []tool.Tool, warn func(all []string)) (*permission.Policy, error) {
	r.world = w
	r.policy = permission.New(w, permission.Mode(r.settings.Tools.ApprovalMode))
	rules, ignored, err := r.read(nil)
	if err != nil {
		return nil, project.Errorf(project.ErrRules, "read the rules in settings: %v", err)
	}
	env := r.directory.Env
	for _, problem := range ignored {
		env.Notice(problem.Error())
	}
	for _, e := range r.settings.Permissions.Allow {
		if r.allowsHosts(e) {
			env.Notice(fmt.Sprintf("%s: ignoring %s: a project's settings can only deny and ask. Put it in your own "+
				"settings.", e.From, e.Text))
		}
	}
	all := tool.NewRegistry(tools...).All()
	warn(r.unknownRules(rules, all))
	warn(r.unknownTools(all))
	r.policy.SetRules(rules)
	return r.policy, nil
}

// Judge returns the policy of the session's calls: the rules and the mode, restricted by specifiers in tools.core and
// by skills.
func (r *Rules) Judge() tool.Policy {
	judge := tool.Policy(r.policy.Judge)
	if r.limits.core != nil {
		judge = tool.Stricter(judge, r.limits.core.Policy(r.world))
	}
	return r.skills.narrow(judge)
}

// InMode returns the policy of another mode, without rules.
func (r *Rules) InMode(mode string) (tool.Policy, error) {
	m, err := permission.ParseMode(mode)
	if err != nil {
		return nil, err
	}
	return permission.New(r.world, m).Judge, nil
}

// read reads the rules of settings, and those of the session by their list.
func (r *Rules) read(own map[string][]permission.Written) (permission.Rules, []permission.Problem, error) {
	p := r.settings.Permissions
	allow := slices.DeleteFunc(slices.Clone(p.Allow), r.allowsHosts)
	return permission.ReadRules(slices.Concat(written(allow), own["allow"]),
		slices.Concat(written(p.Ask), own["ask"]),
		slices.Concat(written(Denied(r.settings)), own["deny"]))
}

// allowsHosts reports whether an allow rule is a project's rule on the network, which is ignored: a project can't
// decide where its commands may send files, even if the user trusts it otherwise.
func (r *Rules) allowsHosts(e settings.Entry) bool {
	return permission.IsNetwork(e.Text) && slices.ContainsFunc(r.directory.Files(), func(f settings.File) bool {
		return f.Scope == "project" && f.Path == e.From.Source
	})
}

// written returns a list of rules with the place of each in settings.
func written(entries []settings.Entry) []permission.Written {
	out := make([]permission.Written, len(entries))
	for i, e := range entries {
		out[i] = permission.Written{Text: e.Text, Source: e.From.String()}
	}
	return out
}

// Only returns a policy that denies calls outside allowed-tools of a command file or a skill. It allows the others, so
// that it can only narrow what another policy allows.
func (r *Rules) Only(allowed []string) (tool.Policy, error) {
	entries := make([]permission.Written, len(allowed))
	for i, text := range allowed {
		entries[i].Text = text
	}
	core, err := permission.ReadCore(entries)
	if err != nil {
		return nil, fmt.Errorf("allowed-tools: %w", err)
	}
	named, err := permission.Excluding(allowed)
	if err != nil {
		return nil, fmt.Errorf("allowed-tools: %w", err)
	}
	covers := core.Policy(r.world)
	return func(q tool.Request) tool.Decision {
		d := q.Declaration
		if !core.Has(d) || d.Origin != "" && !named(d) || covers != nil && covers(q).Verdict != tool.Allow {
			return tool.Decision{Reason: "its allowed-tools doesn't include this command"}
		}
		return tool.Decision{Verdict: tool.Allow}
	}, nil
}

// Denied returns the deny rules of settings. Tools in tools.exclude are denied as well, whatever name a call uses, and
// an entry of tools.disabled with a specifier is a deny rule.
func Denied(s *settings.Settings) []settings.Entry {
	denied := slices.Concat(s.Permissions.Deny, s.Tools.Exclude)
	for _, e := range s.Tools.Disabled {
		if strings.Contains(e.Text, "(") {
			denied = append(denied, e)
		}
	}
	return denied
}

// Lists returns the lists of permission rules, the strongest first.
func Lists() []string { return []string{"deny", "ask", "allow"} }

// Add adds a rule for the session, and has open questions judged again. It returns a note about a rule that no tool
// matches.
func (r *Rules) Add(x *tool.Executor, list, rule string) (note string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	mine := map[string][]permission.Written{list: {{Text: rule, Source: thisSession}}}
	alone, problems, err := permission.ReadRules(mine["allow"], mine["ask"], mine["deny"])
	if err == nil && len(problems) > 0 {
		err = problems[0].Err
	}
	if err != nil {
		return "", err
	}
	if len(alone.Unused(x.Registry.All())) > 0 {
		note = "\nNote: no tool has this name."
	}
	if r.own == nil {
		r.own = map[string][]permission.Written{}
	}
	r.own[list] = append(r.own[list], mine[list]...)
	rules, _, err := r.read(r.own)
	if err != nil {
		return "", err
	}
	r.policy.SetRules(rules)
	x.Rejudge()
	return note, nil
}

// Inherit copies the mode and the rules that the user added in another session.
func (r *Rules) Inherit(x *tool.Executor, from *Rules) error {
	r.policy.Inherit(from.policy)
	from.mu.Lock()
	own := from.own
	from.mu.Unlock()
	for list, rules := range own {
		for _, one := range rules {
			if _, err := r.Add(x, list, one.Text); err != nil {
				return err
			}
		}
	}
	return nil
}

// All returns the rules of settings and those of the session, the strongest first.
func (r *Rules) All() []tool.Rule {
	p := r.settings.Permissions
	given := map[string][]permission.Written{
		"deny": written(Denied(r.settings)), "ask": written(p.Ask), "allow": written(p.Allow),
	}
	var out []tool.Rule
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, list := range Lists() {
		for _, w := range slices.Concat(given[list], r.own[list]) {
			out = append(out, tool.Rule{List: list, Text: w.Text, Source: w.Source})
		}
	}
	for _, rule := range r.policy.Remembered() {
		out = append(out, tool.Rule{List: "allow", Text: rule, Source: thisSession})
	}
	return out
}

// thisSession is the source of a rule that the user added for the session.
const thisSession = "this session"
