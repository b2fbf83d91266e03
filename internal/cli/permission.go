package cli

import (
	"fmt"

	"github.com/adze-dev/adze/permission"
)

// setRules gives the policy the rules that settings hold. One that cannot be read stops the start if it forbids.
func (s *session) setRules(env Env) error {
	p := s.settings.Permissions
	rules, ignored, err := permission.ParseRules(texts(p.Allow), texts(p.Ask), texts(p.Deny))
	if err != nil {
		return exitf(exitSettings, "read the rules in settings: %v", err)
	}
	for _, problem := range ignored {
		fmt.Fprintf(env.Stderr, "adze: %v\n", problem)
	}
	s.policy.SetRules(rules)
	return nil
}
