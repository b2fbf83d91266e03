package session

import (
	"net/http"
	"net/netip"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/engine/secretfiles"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// Bubblewrap is the sandbox backend that uses the program bwrap.
const Bubblewrap = "bubblewrap"

// ReadOnlyTrial is the value of settings.Tools.Trial that tries commands where they can't write, even if there are
// overlays.
const ReadOnlyTrial = "read-only"

// sandbox returns the sandbox of the session's commands.
func (s *Session) sandbox(t settings.Tools) builtin.Sandbox {
	f := s.Directory
	return builtin.Sandbox{
		Trial: t.Trial == "auto" || t.Trial == ReadOnlyTrial, ReadOnlyTrial: t.Trial == ReadOnlyTrial,
		Mode: t.Sandbox, Write: f.SandboxWrite(t), UnixSockets: t.SandboxUnixSockets,
		Bubblewrap: t.SandboxBackend == Bubblewrap,
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
		Proxy: http.ProxyFromEnvironment,
	}
}

// deniedPaths returns the deny rules on paths, for the sandbox.
func (s *Session) deniedPaths() ([]builtin.DeniedPath, uint64) {
	version := s.Policy.RulesVersion()
	var out []builtin.DeniedPath
	for _, d := range s.Policy.DeniedPaths() {
		out = append(out, builtin.DeniedPath{
			Text: d.Rule, Read: d.Read, Edit: d.Edit, From: d.From, Matches: d.Matches,
		})
	}
	return out, version
}

// Tries reports whether settings let commands be tried. Empty settings do.
func Tries(t settings.Tools) bool {
	return t.Trial != "off" && t.Trial != project.Untried && t.Sandbox != "off" && t.Sandbox != "read-only"
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
