package session

import (
	"fmt"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/internal/trust"
	"github.com/adze-dev/adze/permission"
)

// SaveRule writes the rules of an offer into settings and gives the file's path. A project's settings count only as the
// person trusts them, so one that is trusted, or had nothing to trust, is trusted with the new rule too; another keeps
// waiting to be looked at.
func (f Folder) SaveRule(scope Scope, offer string) (string, error) {
	if scope == ForProject {
		before, err := f.Wants()
		if err != nil {
			return "", err
		}
		state, err := f.Trust().State(f.Path, before)
		if err != nil {
			return "", err
		}
		if len(before) > 0 && state != trust.Trusted {
			return "", fmt.Errorf("this folder is not trusted, so a rule in its settings would not count; run adze trust first, or save it for everywhere")
		}
	}
	path, err := f.Change(scope, func(path string, text []byte) ([]byte, error) {
		return settings.AllowRules(path, text, permission.SplitOffer(offer))
	})
	if err != nil || scope != ForProject {
		return path, err
	}
	after, err := f.Wants()
	if err != nil {
		return "", err
	}
	return path, f.Trust().Trust(f.Path, after)
}
