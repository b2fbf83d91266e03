package session

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// setRules gives the policy the rules that settings hold. One that cannot be read stops the start if it forbids.
func (s *Session) setRules() error {
	rules, ignored, err := s.readRules(nil)
	if err != nil {
		return errorf(ErrRules, "read the rules in settings: %v", err)
	}
	for _, problem := range ignored {
		s.env.tell(problem.Error())
	}
	all := tool.NewRegistry(s.tools.All()...).All()
	s.warnRules(rules, all)
	s.warnAll(s.unknownTools(all))
	s.Policy.SetRules(rules)
	return nil
}

// readRules reads the rules of settings, and those of the session by their list.
func (s *Session) readRules(own map[string][]permission.Written) (permission.Rules, []permission.Problem, error) {
	p := s.Settings.Permissions
	return permission.ReadRules(slices.Concat(written(p.Allow), own["allow"]), slices.Concat(written(p.Ask), own["ask"]),
		slices.Concat(written(Denied(s.Settings)), own["deny"]))
}

// ownRules are rules that the user added for the session.
type ownRules struct {
	mu    sync.Mutex
	rules map[string][]permission.Written // by list
}

// written is a list of rules with the place of each in settings.
func written(entries []settings.Entry) []permission.Written {
	out := make([]permission.Written, len(entries))
	for i, e := range entries {
		out[i] = permission.Written{Text: e.Text, Source: e.From.String()}
	}
	return out
}

// Denied returns the deny rules of settings. What tools.exclude removes is denied as well, whatever name a call uses, and
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

// SetMode changes the approval mode and has open questions judged again. The model learns of it before its next turn.
func (s *Session) SetMode(mode string) error {
	m, err := permission.ParseMode(mode)
	if err != nil {
		return err
	}
	s.Policy.SetMode(m)
	s.Executor.Rejudge()
	s.recorder.mode(m.String())
	return nil
}

// narrow is the policy of a stricter mode.
func (s *Session) narrow(mode string) (tool.Policy, error) {
	m, err := permission.ParseMode(mode)
	if err != nil {
		return nil, err
	}
	return permission.New(s.world, m).Judge, nil
}

// denyAll is the asker of a non-interactive session. It denies every call that requires approval.
func (s *Session) denyAll(ctx context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	return s.hooks.asking(ctx, r, why, s.denyUnasked)
}

func (s *Session) denyUnasked(_ context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	return tool.Decision{}, tool.Unapproved(r, why, "this session is non-interactive", s.Policy.Flags(r)...)
}

// trusting is a policy that approves tools of servers which the user trusts, where only the approval mode would ask:
// rules still apply, and plan mode still denies.
func trusting(judge tool.Policy, trusted func(origin string) bool) tool.Policy {
	return func(r tool.Request) tool.Decision {
		d := judge(r)
		if d.Verdict != tool.Ask || d.Cause.Kind != tool.ByMode || r.MustAsk || !trusted(r.Declaration.Origin) {
			return d
		}
		return tool.Decision{Verdict: tool.Allow, Cause: tool.Cause{Kind: tool.ByTrust}}
	}
}
