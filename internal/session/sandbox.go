package session

import (
	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/permission/shell"
)

// Bubblewrap is the backend of sandboxes that is a program.
const Bubblewrap = "bubblewrap"

// sandbox is the sandbox that commands of the session run in. A verdict about a command is only valid in the environment
// that the command parser assumes.
func (f Folder) sandbox(t settings.Tools, roots []string) builtin.Sandbox {
	return builtin.Sandbox{
		Mode: t.Sandbox, Write: f.SandboxWrite(t), UnixSockets: t.SandboxUnixSockets, Bubblewrap: t.SandboxBackend == Bubblewrap,
		Limits:  &builtin.ReadLimits{System: permission.SystemFolders()},
		Environ: func(environ []string) []string { return shell.Environment(environ, roots...) },
	}
}

// SandboxWrite are the paths that settings make writable in sandboxes.
func (f Folder) SandboxWrite(t settings.Tools) []string {
	var paths []string
	for _, e := range t.SandboxWrite {
		paths = append(paths, f.settled(e.Text))
	}
	return paths
}
