package session

import (
	"os"
	"slices"
	"strings"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/secretfiles"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/shell"
)

// Bubblewrap is the backend of sandboxes that is a program.
const Bubblewrap = "bubblewrap"

// sandbox is the sandbox that commands of the session run in. A verdict about a command is only valid in the environment
// that the command parser assumes.
func (s *Session) sandbox(t settings.Tools, roots []string) builtin.Sandbox {
	f := s.Folder
	return builtin.Sandbox{
		Trial: t.Trial == "auto",
		Mode:  t.Sandbox, Write: f.SandboxWrite(t), UnixSockets: t.SandboxUnixSockets, Bubblewrap: t.SandboxBackend == Bubblewrap,
		Limits: &builtin.ReadLimits{
			System: permission.SystemFolders(),
			Hide:   func(path string, tracked func() bool) bool { return s.Policy.Hides(path, tracked) },
			Skip:   func(dir string) bool { return s.Policy.HidesSecretsOnly() && secretfiles.DefaultSkip(dir) },
		},
		Environ: func(environ []string) []string { return shell.Environment(environ, roots...) },
	}
}

// Tries reports whether settings let commands be tried. Empty settings do.
func Tries(t settings.Tools) bool {
	return t.Trial != "off" && t.Trial != Untried && t.Sandbox != "off" && t.Sandbox != "read-only"
}

// path is the PATH of auto-approved commands.
func (s *Session) path() string {
	environ := s.env.Environ
	if environ == nil {
		environ = os.Environ()
	}
	for _, kv := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			return shell.Path(value, s.tools.Roots()...)
		}
	}
	return shell.Path("")
}

// readsEnforced reports whether the sandbox limits what auto-approved commands read now. Rules that have changed decide
// again which files it hides.
func (s *Session) readsEnforced() bool {
	if v := s.Policy.RulesVersion(); s.hiddenBy.Swap(v) != v {
		s.tools.ReadLimitsChanged()
	}
	return s.tools.ReadsEnforced()
}

// SandboxWrite are the paths that settings make writable in sandboxes.
func (f Folder) SandboxWrite(t settings.Tools) []string {
	var paths []string
	for _, e := range t.SandboxWrite {
		paths = append(paths, f.settled(e.Text))
	}
	return paths
}
