// Package workspace manages the directories of a session: it turns a name from a model into a canonical path, reports
// whether that is inside, opens it without following links, and records what was read.
//
//	ws, err := workspace.Open("/home/me/app")
//	p, err := ws.Resolve("/home/me/app/main.go")
//	if !p.Inside() { … policy decides … }
//	f, err := p.Open()
//
// It doesn't ask for approval or deny paths outside: package permission judges Path.Abs (package names has the name rules).
// Ignore files are read by package ignore, text by package text.
package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/adze-dev/adze/internal/homedir"
	"github.com/adze-dev/adze/internal/workspace/names"
	"github.com/adze-dev/adze/internal/workspace/realpath"
)

// Workspace is a list of directories; the first is the project. It is safe for
// concurrent use.
type Workspace struct {
	mu    sync.RWMutex
	roots []string
}

// Open makes a workspace of existing directories; the first is the project. Links
// in the roots are resolved once, here.
func Open(roots ...string) (*Workspace, error) {
	if len(roots) == 0 {
		return nil, fmt.Errorf("open workspace: no directory given")
	}
	w := &Workspace{}
	for _, r := range roots {
		if err := w.AddRoot(r); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Imagine returns a workspace of one directory that need not exist, for calls that are judged and never run.
func Imagine(root string) (*Workspace, error) {
	real, _, err := realpath.Resolve(root)
	if err != nil {
		return nil, fmt.Errorf("imagine workspace: %w", err)
	}
	return &Workspace{roots: []string{real}}, nil
}

// AddRoot adds a directory. One that is already a root is not added again.
func (w *Workspace) AddRoot(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("open workspace %s: the current directory no longer exists; change to an existing one: %w", dir, err)
	}
	if err := checkName(abs); err != nil {
		return fmt.Errorf("open workspace: %w", err)
	}
	real, _, err := realpath.Resolve(abs)
	if err != nil {
		return fmt.Errorf("open workspace: %w", err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return fmt.Errorf("open workspace: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("open workspace: %s is not a directory", dir)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.roots, real) {
		w.roots = append(w.roots, real)
	}
	return nil
}

// Roots returns the canonical roots, the project first.
func (w *Workspace) Roots() []string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return slices.Clone(w.roots)
}

// Project returns the first root.
func (w *Workspace) Project() string { return w.Roots()[0] }

// Resolve makes name canonical. The path need not exist: missing components are kept below the nearest existing directory,
// and a dangling link leads to its target. A path outside the roots is no error. For an invalid name it returns a
// *NameError.
func (w *Workspace) Resolve(name string) (Path, error) {
	if err := checkName(name); err != nil {
		return Path{}, err
	}
	if !filepath.IsAbs(name) {
		return Path{}, &NameError{Name: name, Problem: "is not an absolute path", Meant: w.meant(name)}
	}
	abs, exists, err := realpath.Resolve(name)
	if err != nil {
		return Path{}, err
	}
	roots := w.Roots()
	root, _ := names.Within(abs, roots)
	return Path{Abs: abs, Rel: display(abs, roots[0]), Root: root, Given: name, Exists: exists}, nil
}

// display returns the path relative to the project with forward slashes, or the absolute path outside.
func display(abs, project string) string {
	rel, err := filepath.Rel(project, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return abs
	}
	return filepath.ToSlash(rel)
}

// meant guesses the absolute path for a relative one: below the first root that has it, otherwise below the project.
func (w *Workspace) meant(name string) string {
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
