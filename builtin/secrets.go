package builtin

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/redact"
	"github.com/adze-dev/adze/internal/engine/secretvalues"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/tool"
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

// contents is a search.Scope's Withhold for a search that opens files: secret files and directories are omitted.
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

// names is Withhold for a search for names below roots, which aren't secret: only Adze's own directory is omitted,
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

var errClosed = errors.New("the session is closed: no call runs")

// Check rejects the arguments of a call that contain a placeholder of a secret: only write_file and edits turn it back,
// in the file that has the secret. After Close it rejects all calls. It is the Check of a [tool.Executor].
func (s *Set) Check(c tool.Call, d tool.Declaration) error {
	if s.closed.Load() {
		return errClosed
	}
	if d.Origin == "" && (d.Dialect != "" || d.Name == writeName || d.Kind == tool.Think || d.Kind == tool.Other) {
		return nil // the others keep notes, and pass them to subagents
	}
	name, param := placeholderIn(c.Args)
	switch {
	case name == "":
		return nil
	case name != redact.Masked && !s.files.values.Table().Has(name):
		return tool.BadParam(param, "contains %s, which %v. Read the file again, and use what it shows now", name,
			redact.ErrUnknown)
	}
	return tool.BadParam(param, "contains %s, which stands for a secret that results don't show. It can only be used "+
		"to edit the file that contains the secret. Use a variable, a file or a credential helper that has the value, "+
		"or ask the user to do this", name)
}

// placeholderIn returns the first placeholder in arguments, and the parameter that contains it.
func placeholderIn(args json.RawMessage) (name, param string) {
	if !bytes.Contains(args, []byte("secret")) && !bytes.Contains(args, []byte("masked")) &&
		!bytes.Contains(args, []byte(`\u`)) {
		return "", ""
	}
	var params map[string]any
	if json.Unmarshal(args, &params) != nil {
		return redact.Placeholder(string(args)), "arguments"
	}
	for _, param := range slices.Sorted(maps.Keys(params)) {
		text, err := humanize.JSON(params[param])
		if name := redact.Placeholder(string(text)); err == nil && name != "" {
			return name, param
		}
	}
	return "", ""
}

// restore returns a text for a file with secrets in place of their placeholders.
func (f *files) restore(a action, o original, text string) (string, error) {
	restored, name, err := f.values.Table().Restore(text, o.text())
	if err == nil {
		return restored, nil
	}
	advice := "Read the file again, and use what it shows now"
	if !errors.Is(err, redact.ErrUnknown) {
		advice = "Change only other text, or ask the user to make this change"
	}
	return "", a.errorf(a.otherwise, o.path, "the text contains %s, which %w. %s", name, err, advice)
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

// withheld is Withhold for a search that opens files: besides secret files, git's configuration is omitted.
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
