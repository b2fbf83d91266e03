package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/permission"
	"github.com/adze-dev/adze/tool"
)

// openSession opens the session that the command line describes.
func openSession(env Env, o *options, so session.Options) (*session.Session, error) {
	dir, err := workingDir(env, o.cwd)
	if err != nil {
		return nil, err
	}
	for _, add := range absolute(env.Dir, o.addDirs) {
		if err := isDir(add); err != nil {
			return nil, usagef("--add-dir: %v", err)
		}
	}
	so.ID, so.Dir, so.AddDirs, so.Flags = o.sessionID, dir, absolute(env.Dir, o.addDirs), settingFlags(o)
	return session.Open(env.session(), so)
}

// closeSession closes a session; an error doesn't change the results.
func closeSession(env Env, s *session.Session) {
	if err := s.Close(); err != nil {
		env.tell(fmt.Sprintf("close the session: %v", err))
	}
}

// session is the environment of a session.
func (env Env) session() session.Env {
	return session.Env{
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
	fmt.Fprintf(env.Stderr, "adze: %s\n", note)
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
	var fs []settings.Flag
	switch {
	case o.yolo:
		fs = append(fs, settings.Flag{Name: "--yolo", Key: "tools.approvalMode", Value: string(permission.Yolo)})
	case o.mode != "":
		fs = append(fs, settings.Flag{Name: "--approval-mode", Key: "tools.approvalMode", Value: o.mode})
	}
	if o.sandbox != "" {
		fs = append(fs, settings.Flag{Name: "--sandbox", Key: "tools.sandbox", Value: o.sandbox})
	}
	if o.backend != "" {
		fs = append(fs, settings.Flag{Name: "--backend", Key: "tools.sandboxBackend", Value: o.backend})
	}
	if o.model != "" {
		fs = append(fs, settings.Flag{Name: "--model", Key: "model.name", Value: o.model})
	}
	if o.authType != "" {
		fs = append(fs, settings.Flag{Name: "--auth-type", Key: "security.auth.selectedType", Value: o.authType})
	}
	if o.effort != "" {
		fs = append(fs, settings.Flag{Name: "--effort", Key: "model.reasoningEffort", Value: o.effort})
	}
	return fs
}

// workingFolder is the directory that the command line names, for commands that open no session.
func workingFolder(env Env, o *options) (session.Folder, error) {
	dir, err := workingDir(env, o.cwd)
	if err != nil {
		return session.Folder{}, err
	}
	return env.session().Folder(dir)
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
	return session.Canonical(dir), nil
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
