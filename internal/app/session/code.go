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
	if s.Settings.Tools.Trial == project.Untried {
		return nil
	}
	for _, one := range s.knownServers(dirs) {
		if one.Program != "" {
			out = append(out, one)
		}
	}
	if len(out) == 0 { // looking at the files takes longer
		return nil
	}
	return lsp.For(out, lsp.Languages(dirs[:1]))
}

// knownServers returns the known language servers, with those of settings.
func (s *Session) knownServers(dirs []string) []lsp.Server {
	known, err := lsp.Known(s.Settings.LSP.Servers)
	if err != nil { // the settings were checked
		return nil
	}
	return lsp.Find(known, s.path(), dirs)
}

// path returns the directories of programs.
func (s *Session) path() (path string) {
	for _, kv := range s.Env.ProgramEnviron() {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = value
		}
	}
	return path
}

// ServerStatus is a language server for the files of the project.
type ServerStatus struct {
	builtin.ServerState
	Install string   // how to install it, if it isn't
	Version []string // the arguments with which it prints its version
}

// LanguageServers returns the language servers for the files of the project.
func (s *Session) LanguageServers() (out []ServerStatus) {
	running := map[string]builtin.ServerState{}
	for _, one := range s.Tools.LanguageServers() {
		running[one.Name] = one
	}
	roots := s.Tools.Roots()
	for _, one := range lsp.For(s.knownServers(roots), lsp.Languages(roots[:1])) {
		state, ok := running[one.Name]
		switch {
		case ok:
		case one.Program == "":
			state = builtin.ServerState{Name: one.Name, State: "not installed"}
		default:
			state = builtin.ServerState{Name: one.Name, Program: one.Program, State: external.ServerOff,
				Why: external.Untrusted}
		}
		status := ServerStatus{ServerState: state, Version: one.Version}
		if status.Version == nil {
			status.Version = []string{"--version"}
		}
		if one.Program == "" {
			status.Install = one.Install
		}
		out = append(out, status)
	}
	return out
}
