package session

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/lsp"
	filetext "github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/tool"
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
			state = builtin.ServerState{Name: one.Name, Program: one.Program, State: ServerOff, Why: untrusted}
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

// diagnoseTime is how long a result waits for diagnostics.
const diagnoseTime = 1500 * time.Millisecond

// diagnosed tells language servers what a call read and changed, and adds new errors and warnings to the result. It
// waits only if a server was ready before the call; what comes later is in a later result.
func (s *Session) diagnosed(ctx context.Context, q tool.Request, o tool.Outcome, ready bool) tool.Outcome {
	if !s.Tools.HasServers() {
		return o
	}
	if o.Status == tool.StatusSuccess {
		for _, a := range q.Access {
			if a.Verb == tool.Reads && filepath.IsAbs(a.Target) && a.Target == filepath.Clean(a.Target) {
				s.Tools.FileRead(a.Target)
			}
		}
	}
	changes := s.fileChanges(o.Changes)
	s.Tools.FilesChanged(changes)
	if !s.Settings.LSP.Diagnostics {
		return o
	}
	wait := time.Duration(0)
	if ready && len(changes) > 0 {
		wait = diagnoseTime
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if text := s.Tools.Diagnosed(ctx); text != "" {
		o = withTexts(o, "diagnostics", []string{text})
	}
	return o
}

// maxFileChanges is how many changed files language servers learn about after a call.
const maxFileChanges = 1000

// fileChanges returns changes with the texts of files before.
func (s *Session) fileChanges(c tool.Changes) (out []builtin.FileChange) {
	for _, one := range c.List {
		if one.Discarded || one.Files > 0 || one.Kind == tool.ModeChanged || len(out) >= maxFileChanges {
			continue
		}
		if one.From != "" {
			out = append(out, builtin.FileChange{Path: humanize.UnquotePath(one.From)})
		}
		change := builtin.FileChange{Path: humanize.UnquotePath(one.Path), Created: one.Kind == tool.Created}
		if before, _, ok := s.tracker.Texts(one); ok && before != nil {
			if d, err := filetext.Decode([]byte(*before)); err == nil {
				change.Before = &d.Text
			}
		}
		out = append(out, change)
	}
	return out
}
