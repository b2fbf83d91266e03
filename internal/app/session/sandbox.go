package session

import (
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"slices"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/broker"
	"github.com/adze-dev/adze/internal/engine/secretfiles"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// sandbox returns the sandbox of the session's commands.
func (s *Session) sandbox(t settings.Tools) builtin.Sandbox {
	f := s.Directory
	return builtin.Sandbox{
		Trial: t.Trial == "auto" || t.Trial == project.ReadOnlyTrial, ReadOnlyTrial: t.Trial == project.ReadOnlyTrial,
		Mode: t.Sandbox, Write: f.SandboxWrite(t), UnixSockets: t.SandboxUnixSockets,
		Bubblewrap: t.SandboxBackend == project.Bubblewrap,
		Limits: &builtin.ReadLimits{
			System: permission.SystemDirectories(), Watch: &s.watch,
			Hide: func(path string, tracked func() bool) bool { return s.Policy.Hides(path, tracked) },
			Asks: func(path string) bool { return s.Policy.AsksToRead(path) },
			Skip: func(dir string) bool { return s.Policy.HidesSecretsOnly() && secretfiles.DefaultSkip(dir) },
		},
		Denied: s.deniedPaths, Lines: &s.lines, Home: project.Canonical(s.Env.Home),
		Network: s.network(t),
	}
}

// network returns the network of commands that were not approved; nil: they have none.
func (s *Session) network(t settings.Tools) *builtin.Network {
	if t.Trial == project.Untried {
		return nil
	}
	return &builtin.Network{
		On:    func() bool { return s.Policy.Mode() != permission.Plan },
		Rule:  func(a netip.AddrPort) (tool.Verdict, tool.Rule, bool) { return s.Policy.Address(a) },
		Proxy: http.ProxyFromEnvironment, Credentials: s.credentials,
	}
}

// openCredentials reads network.credentials. Commands must not get the variables in hidden.
func (s *Session) openCredentials() (hidden []string, err error) {
	list := slices.Clone(s.Settings.Web.Credentials)
	for i := range list {
		one := &list[i]
		one.Value = discover.Expand(one.Value, func(name string) (string, bool) {
			value := s.Env.Getenv(name)
			if value == "" {
				err = fmt.Errorf("%s: the variable %s isn't set. Set it, or remove the entry", one.Host, name)
			}
			hidden, one.Secrets = append(hidden, name), append(one.Secrets, value)
			return value, true
		})
	}
	if list == nil {
		return nil, nil
	}
	if err == nil {
		s.credentials, err = broker.NewCredentials(list, s.Env.ProgramEnviron(), func(text string) (string, error) {
			saved, err := s.long.Save("network", "certificates", text)
			s.bundle = saved.Path
			return saved.Path, err
		})
	}
	if err != nil {
		return nil, project.Errorf(project.ErrRules, "read settings: network.credentials: %v", err)
	}
	for _, value := range s.credentials.Secrets {
		s.secrets = append(s.secrets, "CREDENTIAL="+value)
	}
	return hidden, nil
}

// warnUnproxied reports that network.credentials has no effect. Only with credentials it waits for the place.
func (s *Session) warnUnproxied() {
	t := s.Settings.Tools
	inWorkspace := t.Sandbox == "workspace" && t.Trial != project.Untried && runtime.GOOS == "linux"
	if s.credentials != nil && !inWorkspace && s.Place() != permission.Overlay {
		s.Env.Warn("network.credentials has no effect: commands don't run in a sandbox with Adze's proxy here")
	}
}

// deniedPaths returns the deny rules on paths, for the sandbox.
func (s *Session) deniedPaths() ([]builtin.DeniedPath, uint64) {
	version := s.Policy.RulesVersion()
	var out []builtin.DeniedPath
	for _, d := range s.Policy.DeniedPaths() {
		out = append(out, builtin.DeniedPath(d))
	}
	return out, version
}

// Place returns where commands run that were not approved. After a change of rules, the hidden files are determined
// again.
func (s *Session) Place() permission.Place {
	if v := s.Policy.RulesVersion(); s.hiddenBy.Swap(v) != v {
		s.Tools.ReadLimitsChanged()
	}
	switch s.Tools.Place() {
	case builtin.PlaceOverlay:
		return permission.Overlay
	case builtin.PlaceReadOnly:
		return permission.ReadOnly
	}
	return permission.None
}
