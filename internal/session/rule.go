package session

import (
	"fmt"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/internal/trust"
	"github.com/adze-dev/adze/permission"
)

// SaveRule writes the rules of an offer into settings and returns the file's path. A project that is trusted, or had
// nothing to trust, stays trusted with the new rule; in another project a saved rule would be ignored, and SaveRule fails.
func (f Folder) SaveRule(scope Scope, offer string) (string, error) {
	if scope == ForProject {
		before, err := f.Requests()
		if err != nil {
			return "", err
		}
		state, err := f.Trust().State(f.Path, before)
		if err != nil {
			return "", err
		}
		if len(before) > 0 && state != trust.Trusted {
			return "", fmt.Errorf("this project isn't trusted, so a saved rule would be ignored\nChoose u (all projects), or run adze trust first.")
		}
	}
	path, err := f.Change(scope, func(path string, text []byte) ([]byte, error) {
		return settings.AllowRules(path, text, permission.SplitOffer(offer))
	})
	if err != nil || scope != ForProject {
		return path, err
	}
	after, err := f.Requests()
	if err != nil {
		return "", err
	}
	return path, f.Trust().Trust(f.Path, after)
}
