package session

import (
	"runtime"
	"slices"
	"strings"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/external"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/engine/lsp"
)

// languageServers returns the installed language servers for the files of the project.
func (s *Session) languageServers(dirs []string) (out []builtin.LanguageServer) {
	if s.Env.Isolated || s.noServers() != "" {
		return nil
	}
	for _, one := range s.knownServers(dirs, false) {
		out = append(out, builtin.LanguageServer(one))
	}
	return out
}

// noServers returns why no language server starts here; "": they may. They read the project's code, and run parts of
// it.
func (s *Session) noServers() string {
	switch t := s.Settings.Tools; {
	case t.Trial == project.Untried:
		return external.Untrusted
	case !s.Settings.LSP.Unsandboxed && (t.Sandbox == "off" || runtime.GOOS != "linux"):
		return "it can't be sandboxed here; lsp.unsandboxed starts it without a sandbox"
	}
	return ""
}

// knownServers returns the known language servers for the files of the project, with those of settings.
func (s *Session) knownServers(dirs []string, missing bool) []lsp.Server {
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

// LanguageServers returns the language servers for the files of the project.
func (s *Session) LanguageServers() (out []lsp.Status) {
	states := s.Tools.LanguageServers().States()
	for _, one := range s.knownServers(s.Tools.Roots(), true) {
		status := lsp.Status{Server: one, State: external.ServerOff, Why: s.noServers()}
		if one.Program == "" {
			status.State, status.Why = "not installed", one.Install
		}
		if i := slices.IndexFunc(states, func(s lsp.Status) bool { return s.Name == one.Name }); i >= 0 {
			status = states[i]
		}
		out = append(out, status)
	}
	return out
}
