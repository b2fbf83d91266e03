package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// runFunc runs a command.
type runFunc = func(ctx context.Context, env Env, o *options, words []string) error

// inSession returns a command that runs in a session which it opens and closes.
func inSession(run func(context.Context, Env, *options, *session.Session, []string) error) runFunc {
	return func(ctx context.Context, env Env, o *options, words []string) error {
		s, err := openSession(env, o, session.Options{SingleCall: true})
		if err != nil {
			return err
		}
		defer closeSession(env, s)
		return run(ctx, env, o, s, words)
	}
}

// openSession opens the session that the command line describes.
func openSession(env Env, o *options, so session.Options) (*session.Session, error) {
	dir, err := workingDir(env, o.cwd)
	if err != nil {
		return nil, err
	}
	addDirs, err := addedDirs(env.Dir, env.Home, o.addDirs)
	if err != nil {
		return nil, err
	}
	for _, note := range o.notes {
		env.tell("note: " + note)
	}
	so.Dir, so.AddDirs, so.Flags = dir, addDirs, settingFlags(o)
	so.SystemPrompt, so.AppendSystemPrompt = o.systemPrompt, o.appendPrompt
	s, err := session.Open(env.session(), so)
	if err != nil {
		return nil, err
	}
	if err := s.Outside.Use(o.mcp.servers, o.mcp.only); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openRun opens the session of a prompt, with its log and its recording. end closes them.
func openRun(ctx context.Context, env Env, o *options, so session.Options) (s *session.Session, end func(), err error) {
	if o.hasTools && o.tools != "default" {
		o.coreTools = append(slices.Clip(o.coreTools), elements(o.tools)...)
		if o.coreTools == nil {
			o.coreTools = []string{} // none
		}
	}
	log, err := openLog(env, o)
	if err != nil {
		return nil, nil, err
	}
	closeLog := func() {}
	if log != nil {
		so.Log, closeLog = log, func() { log.Close() }
	}
	if so.Record, err = recorded(ctx, env, o); err == nil {
		s, err = openSession(env, o, so)
	}
	if err != nil {
		closeLog()
		return nil, nil, err
	}
	return s, func() { closeSession(env, s); closeLog() }, nil
}

// addedDirs are the absolute paths of further directories. One value can name several, separated by commas.
func addedDirs(dir, home string, values []string) ([]string, error) {
	var out []string
	for _, v := range values {
		names := []string{v}
		if isDir(absolute(dir, names)[0]) != nil {
			names = elements(v)
		}
		for _, path := range absolute(dir, names) {
			if err := project.CheckAdded(path, home); err != nil {
				return nil, usagef("--add-dir: %v", err)
			}
			out = append(out, path)
		}
	}
	return out, nil
}

// closeSession closes a session; an error doesn't change the results.
func closeSession(env Env, s *session.Session) {
	if err := s.Close(); err != nil {
		env.tell(fmt.Sprintf("close the session: %v", err))
	}
}

// session is the environment of a session.
func (env Env) session() project.Env {
	return project.Env{
		Getenv: env.Getenv, Environ: env.Environ, Helper: env.Helper, Home: env.Home, Version: env.Version,
		HasUser: env.Terminal || env.driven, Hurry: env.Hurry, Tell: env.tell, Show: env.show,
	}
}

// tell prints a notice for the user on stderr.
func (env Env) tell(note string) {
	if env.notify != nil {
		env.notify(note)
		return
	}
	fmt.Fprintf(env.Stderr, "adze: %s\n", tool.Visible(note))
}

// show prints a URL for the user, and opens it in a browser if possible.
func (env Env) show(address string) error {
	_, err := io.WriteString(env.Stderr, "Open this URL in your browser:\n  "+tool.Visible(address)+"\n")
	if env.Terminal {
		openBrowser(address)
	}
	return err
}

// settingFlags are the flags that are settings for one run.
func settingFlags(o *options) []settings.Flag {
	name, mode := "--approval-mode", string(o.mode)
	if o.yolo {
		name, mode = "--yolo", string(permission.Yolo)
	}
	return slices.DeleteFunc([]settings.Flag{
		{Name: name, Key: "tools.approvalMode", Value: mode},
		{Name: "--sandbox", Key: "tools.sandbox", Value: o.sandbox},
		{Name: "--backend", Key: "tools.sandboxBackend", Value: o.backend},
		{Name: "--chat-recording", Key: "general.chatRecording", Value: o.record.setting},
		{Name: "--model", Key: "model.name", Value: o.model},
		{Name: "--auth-type", Key: "security.auth.selectedType", Value: o.authType},
		{Name: "--effort", Key: "model.reasoningEffort", Value: o.effort},
		{Name: "--allowed-tools", Key: "permissions.allow", List: o.allowedTools},
		{Name: "--rule", Key: "permissions.allow", List: o.rules},
		{Name: "--exclude-tools", Key: "tools.exclude", List: o.excludeTools},
		{Name: "--fallback-model", Key: "model.fallbacks", List: o.fallbacks},
		{Name: "--core-tools", Key: "tools.core", List: o.coreTools},
		{Name: "--allowed-mcp-server-names", Key: "mcp.allowed", List: o.mcpServers},
		{Name: "--disabled-slash-commands", Key: "slashCommands.disabled", List: o.noSlashes},
		{Name: "--max-subagent-depth", Key: "model.maxSubagentDepth", Value: o.maxDepth},
	}, func(f settings.Flag) bool { return f.Value == "" && f.List == nil })
}

// workingDirectory is the directory that the command line names, for commands that open no session.
func workingDirectory(env Env, o *options) (project.Directory, error) {
	dir, err := workingDir(env, o.cwd)
	if err != nil {
		return project.Directory{}, err
	}
	return env.session().Directory(dir)
}

// workingDir is the absolute working directory.
func workingDir(env Env, cwd string) (string, error) {
	dir := env.Dir
	if cwd != "" {
		dir = absolute(env.Dir, []string{cwd})[0]
	}
	if dir == "" {
		return "", usagef("the current directory no longer exists\nUse --cwd DIR.")
	}
	if err := isDir(dir); err != nil {
		return "", usagef("%v", err)
	}
	return project.Canonical(dir), nil
}

func isDir(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("directory not found: %s", path)
	case err == nil && !info.IsDir():
		return fmt.Errorf("not a directory: %s", path)
	}
	return err
}

func absolute(dir string, paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = p
		if !filepath.IsAbs(p) {
			out[i] = filepath.Join(dir, p)
		}
	}
	return out
}
