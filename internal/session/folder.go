package session

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/adze-dev/adze/internal/atomicfile"
	contextfiles "github.com/adze-dev/adze/internal/context"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/internal/trust"
)

// Folder is a directory to work in: the settings that count there, and whether the user trusts it.
type Folder struct {
	Path string // absolute and canonical
	Home string // Adze's own directory

	env Env
}

// Folder is the directory of a path that is absolute and canonical.
func (env Env) Folder(path string) (Folder, error) {
	home, err := settings.Home(env.Getenv, env.Home)
	return Folder{Path: path, Home: home, env: env}, err
}

func (f Folder) sources() settings.Sources {
	return settings.Sources{System: settings.SystemDir(runtime.GOOS), UserHome: f.env.Home, AdzeHome: f.Home, Project: f.Path, Getenv: f.env.Getenv}
}

// Untried is settings.Tools.Trial in a project that isn't trusted: nothing of it runs before the user agrees.
const Untried = "untrusted"

// Settings reads the settings. Those of the directory count in full only if the user trusts exactly what it wants.
func (f Folder) Settings(flags ...settings.Flag) (s *settings.Settings, trusted bool, err error) {
	src := f.sources()
	src.Flags = flags
	s, err = settings.Load(src)
	if err != nil {
		return nil, false, err
	}
	items := f.wants(s)
	if len(items) == 0 {
		return s, false, nil
	}
	state, err := f.Trust().State(f.Path, items)
	switch {
	case err != nil:
		f.env.tell(err.Error())
	case state == trust.Trusted:
		src.Trusted = true
		s, err = settings.Load(src)
		return s, true, err
	case state == trust.Changed:
		f.env.warn("the settings of %s changed since you trusted them. Review with 'adze trust'.", f.Path)
	}
	s.Tools.Trial = Untried
	return s, false, nil
}

// tellNotes reports settings that are ignored or changed. Settings that need trust are only counted, since adze trust
// shows them; an interactive front end counts them itself.
func (f Folder) tellNotes(s *settings.Settings, interactive bool) {
	withheld := map[settings.Place]bool{}
	for _, w := range s.Withheld() {
		withheld[w.From] = true
	}
	for _, n := range s.Notes() {
		if !withheld[n.From] {
			f.env.tell(n.String())
		}
	}
	if n := len(s.Withheld()); n > 0 && !interactive {
		things := fmt.Sprintf("%d settings", n)
		if n == 1 {
			things = "1 setting"
		}
		f.env.warn("%s isn't trusted: ignoring %s. Review with 'adze trust'.", f.Path, things)
	}
}

// Trust is the store of the user's trusted projects.
func (f Folder) Trust() *trust.Store { return trust.Open(f.Home) }

// places are the directories of definitions.
func (f Folder) places(trusted bool) contextfiles.Places {
	user := []string{f.Home}
	if f.env.Home != "" {
		user = append(user, filepath.Join(f.env.Home, ".qwen"))
	}
	return contextfiles.Places{
		User:    user,
		Project: contextfiles.Root(f.Path, f.env.Home),
		Trusted: trusted,
	}
}

// Scope is whose settings a change goes to. The zero value is the user's own.
type Scope string

const (
	ForUser    Scope = "user"    // everywhere
	ForProject Scope = "project" // in the project, for all its users
)

// File is the path of the settings file of a scope.
func (f Folder) File(scope Scope) string {
	if scope == ForProject {
		return filepath.Join(f.Path, ".adze", "settings.json")
	}
	return filepath.Join(f.Home, "settings.json")
}

// Files are all settings files that are read, weakest first, whether they exist or not.
func (f Folder) Files() []settings.File { return f.sources().Files() }

// Change rewrites the settings file of the scope and gives its path: at once or not at all, and never one that cannot be
// read.
func (f Folder) Change(scope Scope, change func(path string, text []byte) ([]byte, error)) (string, error) {
	path := f.File(scope)
	how := atomicfile.Options{Backup: f.Home, Mode: 0o600}
	if scope == ForProject {
		how.Mode = 0
	} else if err := settings.EnsureHome(f.Home); err != nil {
		return "", err
	}
	old, err := os.ReadFile(path)
	switch {
	case err == nil:
		hash := sha256.Sum256(old)
		how.Old = &hash
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	text, err := change(path, old)
	if err != nil {
		return "", err
	}
	_, err = atomicfile.Write(path, text, how)
	return path, err
}
