// Package workspace manages the directories of a session: it turns a name from a model into a canonical path, reports
// whether that is inside, opens it without following links, and records what was read.
//
//	ws, err := workspace.Open("/home/me/app")
//	p, err := ws.Resolve("/home/me/app/main.go")
//	if !p.Inside() { … policy decides … }
//	f, err := p.Open()
//
// It doesn't ask for approval or deny paths outside: package permission judges Path.Abs (package names has the name
// rules). Ignore files are read by package ignore, text by package text.
package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/adze-dev/adze/internal/engine/homedir"
	"github.com/adze-dev/adze/internal/engine/workspace/names"
	"github.com/adze-dev/adze/internal/engine/workspace/realpath"
)

// Workspace is a list of directories; the first is the project. It is immutable.
type Workspace struct {
	roots   []string
	skipped []string
}

// Open makes a workspace of existing directories; the first is the project. Links in the roots are resolved once, here.
// A directory in another root adds nothing.
func Open(roots ...string) (*Workspace, error) { return OpenBeside(nil, roots...) }

// OpenBeside is Open for a workspace whose commands can write to further directories, such as those for temp files. A
// root that leads out of another root or of such a directory is skipped, because an earlier command may have chosen
// where it leads. See Skipped.
func OpenBeside(writable []string, roots ...string) (*Workspace, error) {
	if len(roots) == 0 {
		return nil, fmt.Errorf("open workspace: no directory given")
	}
	var all []root
	for _, given := range roots {
		r, err := newRoot(given)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	var changeable []string
	for _, dir := range writable {
		if real, _, err := realpath.Resolve(dir); err == nil {
			changeable = append(changeable, real)
		}
	}
	w := &Workspace{}
	var kept []root
	for i, r := range all {
		dirs := slices.Clone(changeable)
		for j, other := range all {
			if j != i {
				dirs = append(dirs, other.real)
			}
		}
		if dir, out := r.leadsOut(dirs); out && i > 0 {
			w.skipped = append(w.skipped, fmt.Sprintf("%s was not added to the workspace: it leads to %s by way of "+
				"%s, where commands can change links. Add %s instead if that is right.",
				r.given, r.real, dir, r.real))
			continue
		}
		kept = append(kept, r)
	}
	for i, r := range kept {
		nested := slices.ContainsFunc(kept, func(o root) bool {
			return o.real != r.real && names.Below(r.real, o.real)
		})
		if i == 0 || !nested && !slices.Contains(w.roots, r.real) {
			w.roots = append(w.roots, r.real)
		}
	}
	return w, nil
}

// root is a directory of a workspace.
type root struct {
	given  string   // absolute
	real   string   // canonical
	passed []string // see realpath.Passed
}

func newRoot(dir string) (root, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return root{}, fmt.Errorf("open workspace %s: the current directory no longer exists; change to an "+
			"existing one: %w", dir, err)
	}
	if err := checkName(abs); err != nil {
		return root{}, fmt.Errorf("open workspace: %w", err)
	}
	real, _, err := realpath.Resolve(abs)
	if err != nil {
		return root{}, fmt.Errorf("open workspace: %w", err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return root{}, fmt.Errorf("open workspace: %w", err)
	}
	if !info.IsDir() {
		return root{}, fmt.Errorf("open workspace: %s is not a directory", dir)
	}
	passed, err := realpath.Passed(abs)
	if err != nil {
		return root{}, fmt.Errorf("open workspace: %w", err)
	}
	return root{abs, real, passed}, nil
}

// leadsOut returns the directory of a list that the path of a root goes through although the root isn't in it.
func (r root) leadsOut(dirs []string) (dir string, ok bool) {
	for _, passed := range r.passed {
		dir, inside := names.Within(passed, dirs)
		if !inside {
			continue
		}
		if !names.Below(r.real, dir) {
			return dir, true
		}
	}
	return "", false
}

// Imagine returns a workspace of one directory that need not exist, for calls that are judged and never run.
func Imagine(root string) (*Workspace, error) {
	real, _, err := realpath.Resolve(root)
	if err != nil {
		return nil, fmt.Errorf("imagine workspace: %w", err)
	}
	return &Workspace{roots: []string{real}}, nil
}

// Skipped describes the roots that were skipped, in sentences; see OpenBeside.
func (w *Workspace) Skipped() []string { return slices.Clone(w.skipped) }

// Roots returns the canonical roots, the project first.
func (w *Workspace) Roots() []string { return slices.Clone(w.roots) }

// Project returns the first root.
func (w *Workspace) Project() string { return w.Roots()[0] }

// Resolve makes name canonical. A relative name is below the first root that has it, otherwise below the project, and ~
// is the home directory. The path need not exist: missing components are kept below the nearest existing directory, and
// a dangling link leads to its target. A path outside the roots is no error. For an invalid name it returns a
// *NameError.
func (w *Workspace) Resolve(name string) (Path, error) {
	if err := checkName(name); err != nil {
		return Path{}, err
	}
	if !filepath.IsAbs(name) {
		if filepath.VolumeName(name) != "" || os.IsPathSeparator(name[0]) { // on Windows: C:x, \x
			return Path{}, &NameError{Name: name, Problem: "is neither absolute nor relative to the workspace"}
		}
		name = w.absolute(name)
	}
	roots := w.Roots()
	if runtime.GOOS == "windows" && names.Elsewhere(name, roots) {
		const problem = `is on another machine or a device; name a file on a drive, such as C:\dir\file`
		return Path{}, &NameError{Name: name, Problem: problem}
	}
	abs, exists, err := realpath.Resolve(name)
	if err != nil {
		return Path{}, err
	}
	root, _ := names.Within(abs, roots)
	return Path{Abs: abs, Rel: names.Short(abs, roots[0]), Root: root, Given: name, Exists: exists}, nil
}

// absolute returns the absolute path for a relative one.
func (w *Workspace) absolute(name string) string {
	if rest, ok := cutHome(name); ok {
		if home, err := homedir.Dir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	roots := w.Roots()
	for _, r := range roots {
		full := filepath.Join(r, name)
		if _, err := os.Lstat(full); err == nil {
			return full
		}
	}
	return filepath.Join(roots[0], name)
}
