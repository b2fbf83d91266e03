package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/adze-dev/adze/internal/app/plugin"
	"github.com/adze-dev/adze/internal/app/settings"
	"github.com/adze-dev/adze/internal/app/trust"
	"github.com/adze-dev/adze/internal/engine/atomicfile"
	contextfiles "github.com/adze-dev/adze/internal/engine/context"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/proc"
	"github.com/adze-dev/adze/internal/engine/proc/sandbox/places"
	"github.com/adze-dev/adze/internal/engine/trial"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/realpath"
	"github.com/adze-dev/adze/permission"
)

// Directory is a working directory: its settings, and whether the user trusts it.
type Directory struct {
	Path string // absolute and canonical
	Home string // Adze's own directory

	Env Env
}

// Directory returns the Directory of an absolute and canonical path.
func (env Env) Directory(path string) (Directory, error) {
	home, err := settings.Home(env.Getenv, env.Home)
	return Directory{Path: path, Home: home, Env: env}, err
}

func (f Directory) sources() settings.Sources {
	if f.Env.Isolated {
		return settings.Sources{}
	}
	return settings.Sources{
		System: settings.SystemDirs(runtime.GOOS), UserHome: f.Env.Home, AdzeHome: f.Home, Project: f.Path,
		Getenv: f.Env.Getenv,
	}
}

// Untried is the value of settings.Tools.Trial in an untrusted project: nothing of it runs without approval.
const Untried = "untrusted"

// Bubblewrap is the sandbox backend that uses the program bwrap.
const Bubblewrap = "bubblewrap"

// ReadOnlyTrial is the value of settings.Tools.Trial that tries commands where they can't write, even if there are
// overlays.
const ReadOnlyTrial = "read-only"

// Tries reports whether settings let commands be tried. Empty settings do.
func Tries(t settings.Tools) bool {
	return t.Trial != "off" && t.Trial != Untried && t.Sandbox != "off" && t.Sandbox != "read-only"
}

// Settings reads the settings. Those of the directory apply in full only if the user trusts exactly what they request.
func (f Directory) Settings(flags ...settings.Flag) (s *settings.Settings, trusted bool, err error) {
	src := f.sources()
	src.Flags = flags
	s, err = settings.Load(src)
	if err != nil || f.Env.Isolated {
		return s, false, err
	}
	items := f.wants(s)
	if len(items) == 0 && len(f.Places(false).Requests()) == 0 {
		return s, false, nil
	}
	state, err := f.Trust().State(f.Path, items)
	switch {
	case err != nil:
		f.Env.Notice(err.Error())
	case state == trust.Trusted && len(items) == 0: // only definitions: the settings are the same
		return s, true, nil
	case state == trust.Trusted:
		src.Trusted = true
		s, err = settings.Load(src)
		return s, true, err
	case state == trust.Changed:
		f.Env.Warn("the settings of %s changed since you trusted them. Review with 'adze trust'.", f.Path)
	}
	if len(items) > 0 { // definitions alone are ignored, so commands can be tried as in a project without any
		s.Tools.Trial = Untried
	}
	return s, false, nil
}

// tellNotes reports settings that are ignored or changed. Settings that need trust are only counted, because adze trust
// shows them; an interactive front end counts them itself.
func (f Directory) TellNotes(s *settings.Settings, interactive bool) {
	withheld := map[settings.Place]bool{}
	for _, w := range s.Withheld() {
		withheld[w.From] = true
	}
	for _, n := range s.Notes() {
		if !withheld[n.From] {
			f.Env.Notice(n.String())
		}
	}
	if n := len(s.Withheld()); n > 0 && !interactive {
		f.Env.Warn("%s isn't trusted: ignoring %s. Review with 'adze trust'.", f.Path, humanize.Count(n, "setting"))
	}
}

// Trust returns the store of the user's trusted projects.
func (f Directory) Trust() *trust.Store { return trust.Open(f.Home) }

// Places returns the directories of definitions.
func (f Directory) Places(trusted bool) contextfiles.Places {
	p := contextfiles.Places{
		Own: f.Home, Home: f.Env.Home, Project: contextfiles.Root(f.Path, f.Env.Home), Trusted: trusted,
	}
	if trusted {
		p.Seals = f.Trust().Seals(f.Path)
	}
	return p
}

// Scope is the settings file that a change is for. The zero value is the user's own.
type Scope string

const (
	ForUser    Scope = "user"    // everywhere
	ForProject Scope = "project" // in the project, for all its users
)

// File returns the path of the settings file of a scope.
func (f Directory) File(scope Scope) string {
	if scope == ForProject {
		return filepath.Join(f.Path, ".adze", "settings.json")
	}
	return filepath.Join(f.Home, "settings.json")
}

// Files returns all settings files that are read, weakest first, whether they exist or not.
func (f Directory) Files() []settings.File { return f.sources().Files() }

// Change rewrites the settings file of the scope atomically and returns its path. It never replaces a file that can't
// be read.
func (f Directory) Change(scope Scope, change func(path string, text []byte) ([]byte, error)) (string, error) {
	path := f.File(scope)
	how := atomicfile.Options{Backup: f.Home, Mode: 0o600}
	if scope == ForProject {
		how.Mode = 0
	} else if err := settings.EnsureHome(f.Home); err != nil {
		return "", err
	}
	return path, atomicfile.Update(path, how, func(old []byte) ([]byte, error) { return change(path, old) })
}

// Canonical resolves links, as in the paths that a policy compares with. The part that doesn't exist is unchanged.
func Canonical(path string) string {
	if path == "" {
		return ""
	}
	return realpath.Existing(path)
}

// CheckAdded returns an error if a path can't be a further directory of the workspace. The root directory and the home
// directory can't: commands and edits would have access to everything of the user.
func CheckAdded(path, home string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("directory not found: %s", path)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("not a directory: %s", path)
	}
	if f, err := os.Open(path); err != nil {
		return err
	} else if f.Close(); filepath.Dir(Canonical(path)) == Canonical(path) {
		return fmt.Errorf("contains all files of this computer: %s\nAdd the directory that you need.", path)
	}
	if home != "" && names.Below(Canonical(home), Canonical(path)) {
		return fmt.Errorf("contains your home directory: %s\nAdd the directory that you need.", path)
	}
	return nil
}

// included returns the further directories in settings. A missing one is reported and skipped.
func (f Directory) Included(s *settings.Settings) []string {
	var dirs []string
	for _, e := range s.Context.IncludeDirectories {
		path := f.Resolve(e.Text)
		if err := CheckAdded(path, f.Env.Home); err != nil {
			f.Env.Notice(fmt.Sprintf("%s: context.includeDirectories: %v", e.From, err))
			continue
		}
		dirs = append(dirs, path)
	}
	return dirs
}

// Resolve resolves a path of settings, which may begin at the home directory or at the working directory.
func (f Directory) Resolve(path string) string {
	if rest, ok := strings.CutPrefix(path+"/", "~/"); ok && f.Env.Home != "" {
		path = filepath.Join(f.Env.Home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.Path, path)
	}
	return path
}

// MCPState returns the directory for manifests, logs and logins of servers.
func (f Directory) MCPState() string { return filepath.Join(f.Home, "mcp") }

// SaveRule writes the rules of an offer to settings and returns the file's path. A project that is trusted, or has
// nothing to trust, stays trusted with the new rule; in another project a saved rule would be ignored, and SaveRule
// fails.
func (f Directory) SaveRule(scope Scope, offer string) (string, error) {
	if scope == ForProject {
		before, err := f.Requests()
		if err != nil {
			return "", err
		}
		state, err := f.Trust().State(f.Path, before.settings)
		if err != nil {
			return "", err
		}
		if len(before.Items) > 0 && state != trust.Trusted {
			return "", fmt.Errorf("this project isn't trusted, so a saved rule would be ignored\nChoose u (all " +
				"projects), or run adze trust first.")
		}
	}
	path, err := f.Change(scope, func(path string, text []byte) ([]byte, error) {
		return settings.AddRules(path, text, "allow", permission.SplitOffer(offer))
	})
	if err != nil || scope != ForProject {
		return path, err
	}
	after, err := f.Requests()
	if err != nil {
		return "", err
	}
	return path, f.Trust().Renew(f.Path, after.settings)
}

// SandboxWrite returns the paths that settings make writable in sandboxes.
func (f Directory) SandboxWrite(t settings.Tools) []string {
	var paths []string
	for _, e := range t.SandboxWrite {
		paths = append(paths, f.Resolve(e.Text))
	}
	return paths
}

// trialDir is the directory for the changes of trials, in Adze's directory.
const trialDir = "trial"

// SandboxBase returns the common part of workspace sandboxes in the directory, and which paths are protected by their
// names. write are paths that settings make writable.
func (f Directory) SandboxBase(write, environ []string) (*places.Base, func(path string) bool) {
	named := names.ProtectedIn([]string{Canonical(f.Path)}, Canonical(f.Env.Home))
	protected := func(path string) bool {
		_, ok := named(path)
		return ok
	}
	return places.NewBase([]string{f.Path}, write, environ, protected), protected
}

// Trials prepares trials in the directory, and returns its roots. write are paths that settings make writable.
func (f Directory) Trials(write, environ []string) (*trial.Layers, []string, error) {
	base, protected := f.SandboxBase(write, environ)
	layers, err := trial.Open(trial.Options{
		State: filepath.Join(f.Home, trialDir), Roots: base.Roots(), Git: base.Git(), Home: f.Env.Home,
		Temp: places.TempDirs(environ), CacheDirs: base.CacheDirs(), Caches: base.Lasting(),
		Protected: trial.Protects(base.Protect(), protected),
		Instructs: func(path string) bool { return names.Instructs(path, nil) },
	})
	return layers, base.Roots(), err
}

// RecoverTrials undoes incomplete changes of sessions that were killed while keeping a trial, and removes their files.
func (f Directory) RecoverTrials(roots []string) error {
	return trial.Recover(filepath.Join(f.Home, trialDir), roots)
}

// Plugins returns where the user's plugins are.
func (d Directory) Plugins() plugin.Where {
	return plugin.Where{
		Home: d.Home, Servers: d.MCPState(), Project: d.Path, Helper: proc.Helper(d.Env.Helper),
		Lookup: d.Env.Lookup,
	}
}

// Journaled returns a path of the user as in the journal: absolute, without links above it.
func (d Directory) Journaled(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.Path, path)
	}
	return filepath.Join(Canonical(filepath.Dir(path)), filepath.Base(path))
}
