package cli

import (
	"fmt"

	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/internal/trust"
	"github.com/adze-dev/adze/permission"
)

// saveRule writes the rules of an offer into settings. A project's settings count only as the person trusts them, so
// one that is trusted, or had nothing to trust, is trusted with the new rule too; another keeps waiting to be looked at.
func (s *session) saveRule(env Env, scope, offer string) (string, error) {
	o := &options{cwd: s.dir, scope: scope}
	src := settings.Sources{UserHome: env.Home, AdzeHome: s.home, Project: s.dir, Getenv: env.Getenv}
	store := trust.Open(s.home)
	if scope == "project" {
		before, err := s.projectWants(src)
		if err != nil {
			return "", err
		}
		state, err := store.State(s.dir, before)
		if err != nil {
			return "", err
		}
		if len(before) > 0 && state != trust.Trusted {
			return "", fmt.Errorf("this folder is not trusted, so a rule in its settings would not count; run adze trust first, or save it for everywhere")
		}
	}
	path, err := changeSettings(env, o, func(path string, text []byte) ([]byte, error) {
		return settings.AllowRules(path, text, permission.SplitOffer(offer))
	})
	if err != nil || scope != "project" {
		return path, err
	}
	after, err := s.projectWants(src)
	if err != nil {
		return "", err
	}
	return path, store.Trust(s.dir, after)
}

func (s *session) projectWants(src settings.Sources) ([]trust.Item, error) {
	loaded, err := settings.Load(src)
	if err != nil {
		return nil, err
	}
	return wants(loaded, src.Project, places(src.Project, src.UserHome, src.AdzeHome, false)), nil
}
