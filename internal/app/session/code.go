package session

import (
	"strings"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/external"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/engine/lsp"
)

// languageServers returns the installed language servers for the files of the project. They read its code, and run
// parts of it, so an untrusted project has none.
func (s *Session) languageServers(dirs []string) (out []builtin.LanguageServer) {
	if s.Settings.Tools.Trial == project.Untried || s.Env.Isolated {
		return nil
	}
	for _, one := range s.knownServers(dirs, false) {
		out = append(out, builtin.LanguageServer(one.Server))
	}
	return out
}

// knownServers returns the known language servers for the files of the project, with those of settings.
func (s *Session) knownServers(dirs []string, missing bool) []lsp.Row {
	known, err := lsp.Known(s.Settings.LSP.Servers)
	if err != nil { // the settings were checked
		return nil
	}
	path := ""
	for _, kv := range s.Env.ProgramEnviron() {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = value
		}
	}
	return lsp.Find(known, path, dirs, missing)
}

// ServerStatus is a language server for the files of the project.
type ServerStatus struct {
	lsp.Status
	Version []string // the arguments with which it prints its version
}

// LanguageServers returns the language servers for the files of the project.
func (s *Session) LanguageServers() (out []ServerStatus) {
	for _, one := range s.knownServers(s.Tools.Roots(), true) {
		status := lsp.Status{Name: one.Name, Program: one.Program, State: external.ServerOff, Why: external.Untrusted}
		if one.Program == "" {
			status.State, status.Why = "not installed", one.Install
		}
		for _, running := range s.Tools.LanguageServers().States() {
			if running.Name == one.Name {
				status = running
			}
		}
		out = append(out, ServerStatus{status, one.Version})
	}
	return out
}
