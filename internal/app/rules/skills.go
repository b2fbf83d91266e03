package rules

import (
	"fmt"
	"slices"
	"sync"

	"github.com/adze-dev/adze/tool"
)

// skillLimits are the allowed-tools of the skills that were loaded in this turn. They only narrow: a call that one of
// them doesn't cover requires approval, whatever rules, modes and hooks allow.
type skillLimits struct {
	mu  sync.Mutex
	all []skillLimit
}

type skillLimit struct {
	skill string
	only  tool.Policy
}

// Use narrows the calls until the turn ends. allowed is nil for a skill without a list.
func (r *Rules) Use(skill string, allowed []string) error {
	if allowed == nil {
		return nil
	}
	only, err := r.Only(allowed)
	if err != nil {
		return fmt.Errorf("load skill %s: %w", skill, err)
	}
	r.skills.mu.Lock()
	defer r.skills.mu.Unlock()
	r.skills.all = append(r.skills.all, skillLimit{skill, only})
	return nil
}

// TurnEnded ends the narrowing. A turn that failed may be continued, so it keeps its skills.
func (r *Rules) TurnEnded(err error) { r.skills.release(err) }

func (l *skillLimits) release(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.all = nil
	}
}

// narrow returns a policy that also asks about calls that a loaded skill doesn't cover. Calls of built-in tools that
// only read are exempt.
func (l *skillLimits) narrow(judge tool.Policy) tool.Policy {
	return func(r tool.Request) tool.Decision {
		d := judge(r)
		l.mu.Lock()
		all := l.all
		l.mu.Unlock()
		more := slices.ContainsFunc(r.Access, func(a tool.Access) bool {
			return a != tool.Nothing && a.Verb != tool.Reads
		})
		if len(all) == 0 || d.Verdict == tool.Deny || d.UserOnly() || r.Declaration.Origin == "" && !more {
			return d
		}
		for _, one := range all {
			if one.only(r).Verdict != tool.Allow {
				return tool.Decision{Verdict: tool.Ask, Cause: tool.Cause{Kind: tool.ByMustAsk}, Reason: fmt.Sprintf(
					"not in allowed-tools of the skill %s", one.skill)}
			}
		}
		return d
	}
}
