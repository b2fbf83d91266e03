package session

import (
	"context"
	"errors"
	"strings"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// setRules gives the policy the rules that settings hold. One that cannot be read stops the start if it forbids.
func (s *Session) setRules() error {
	p := s.Settings.Permissions
	rules, ignored, err := permission.ParseRules(settings.Texts(p.Allow), settings.Texts(p.Ask), settings.Texts(p.Deny))
	if err != nil {
		return errorf(ErrRules, "read the rules in settings: %v", err)
	}
	for _, problem := range ignored {
		s.env.tell(problem.Error())
	}
	s.Policy.SetRules(rules)
	return nil
}

// setMode changes the approval mode and has open questions judged anew.
func (s *Session) setMode(mode string) error {
	m, err := permission.ParseMode(mode)
	if err != nil {
		return err
	}
	s.Policy.SetMode(m)
	s.Executor.Rejudge()
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

// nobody refuses every question, and says what would have made it unnecessary.
func (s *Session) nobody(_ context.Context, r tool.Request, why tool.Decision) (tool.Decision, error) {
	return tool.Decision{}, errors.New(s.Policy.Explain(r, why).String())
}

// trusting is a policy that does not ask about tools of servers which the person trusts, where nothing but the table of
// modes would have it ask: rules count as ever, and plan mode stays closed.
func trusting(judge tool.Policy, mode func() permission.Mode, trusted func(origin string) bool) tool.Policy {
	return func(r tool.Request) tool.Decision {
		d := judge(r)
		m := mode()
		if d.Verdict != tool.Ask || r.MustAsk || m != permission.Default && m != permission.AutoEdit {
			return d
		}
		if !strings.HasSuffix(d.Reason, ", in "+m.String()+" mode") || !trusted(r.Declaration.Origin) {
			return d
		}
		return tool.Decision{Verdict: tool.Allow, Reason: "the server is configured with trust"}
	}
}
