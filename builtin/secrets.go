package builtin

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/secretvalues"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
)

// secrets are the files that no tool opens unless the call names them, which policy judges. No result depends on their
// contents, sizes or times otherwise.
type secrets struct {
	own   string // Adze's own directory, with links resolved: keys, logins, journals; "": none
	saved string // the saved results in it, which the model may read; "": none
}

func newSecrets(ws *workspace.Workspace, o Options) secrets {
	resolved := func(path string) string {
		if path == "" {
			return ""
		}
		if p, err := ws.Resolve(path); err == nil {
			return p.Abs
		}
		return path
	}
	return secrets{own: resolved(o.State), saved: resolved(o.Saved)}
}

// ofAdze reports whether a path is in Adze's own directory, and isn't a saved result.
func (s secrets) ofAdze(path string) bool {
	return names.Below(path, s.own) && !names.Below(path, s.saved)
}

// why reports whether a path is secret, and why.
func (s secrets) why(path string) (why string, ok bool) {
	if s.ofAdze(path) {
		return "in Adze's own directory", true
	}
	return names.Secret(path)
}

func (s secrets) is(p workspace.Path) bool {
	_, secret := s.why(p.Abs)
	return secret
}

// contents is a search.Scope's Withhold for a search that opens files: secret files and directories are left out.
func (s secrets) contents(dir string) (all bool, withheld func(name string) bool) {
	if s.below(dir) {
		return true, nil
	}
	return false, func(name string) bool {
		if names.Ordinary(name) {
			return false
		}
		_, secret := names.Secret(filepath.Join(dir, name))
		return secret
	}
}

// below reports whether every file in a directory is secret.
func (s secrets) below(dir string) bool {
	_, secret := s.why(filepath.Join(dir, "x")) // an ordinary name
	return secret
}

// names is Withhold for a search for names below roots, which aren't secret: only Adze's own directory is left out,
// unless the search begins there.
func (s secrets) names(roots []string) func(dir string) (all bool, withheld func(name string) bool) {
	return func(dir string) (bool, func(string) bool) {
		if s.ofAdze(dir) && !s.ofAdze(roots[0]) {
			return true, nil
		}
		all, withheld := s.contents(dir)
		if all {
			withheld = func(string) bool { return true }
		}
		return false, withheld
	}
}

// secret reports whether no search opens a file: because of its name, or because git stores credentials in it.
func (f *files) secret(path string) (why string, ok bool) {
	if why, ok = f.secrets.why(path); ok {
		return why, true
	}
	if why, ok = names.SecretWhenNamed(path); ok {
		return why, true
	}
	ok = secretvalues.GitConfig(path) || configured(f.values.Configs(nil), path)
	return "git may store credentials in it", ok
}

func configured(configs []secretvalues.Config, path string) bool {
	return slices.ContainsFunc(configs, func(c secretvalues.Config) bool { return c.Path == path })
}

// withheld is Withhold for a search that opens files: besides secret files, git's configuration is left out.
func (f *files) withheld() func(dir string) (all bool, withheld func(name string) bool) {
	configs := f.values.Configs(nil)
	return func(dir string) (bool, func(string) bool) {
		all, secret := f.secrets.contents(dir)
		if all {
			return true, nil
		}
		return false, func(name string) bool {
			if secret(name) {
				return true
			}
			if len(configs) == 0 && !strings.HasPrefix(name, "config") { // most names
				return false
			}
			path := filepath.Join(dir, name)
			return secretvalues.GitConfig(path) || configured(configs, path)
		}
	}
}
