// Package plugin installs plugins: skills, commands, subagents, MCP servers and hooks in one directory, in formats of
// Agent Plugins 1.0, Qwen Code and Claude Code.
//
//	err := plugin.Review(ctx, where, plugin.ParseSource("https://example.com/tools.git@v1", dir), nil, stdout, agree)
//	plugins, notes := plugin.Load(where)
//
// A plugin is a copy of its source without links that lead out of it. Approval is bound to all of its files: if one is
// added, changed or removed, nothing of the plugin is used. A plugin only adds: it has no permissions, models, settings
// or network rules, and its names start with its own.
package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/hook"
	contextfiles "github.com/adze-dev/adze/internal/engine/context"
	"github.com/adze-dev/adze/internal/engine/proc"
)

// Where is where plugins are, and what reading and fetching them needs.
type Where struct {
	Home    string // Adze's own directory
	Servers string // the directory for what is saved about MCP servers
	Project string // the working directory
	Helper  proc.Helper
	Lookup  func(name string) (string, bool) // of environment variables
}

// A plugin's directory is Home/plugins/NAME.
const (
	pluginsDir = "plugins"
	treeDir    = "tree" // its files
	dataDir    = "data" // what its programs write
	recordFile = "approved.json"
	stagingDir = ".new-" // the start of the name of an unapproved one
)

func (w Where) dir(name string) string { return filepath.Join(w.Home, pluginsDir, name) }

// Record is what the user approved.
type Record struct {
	Source
	Commit  string            `json:"commit,omitempty"`
	Tree    string            `json:"tree"` // the hash of all files
	Seals   map[string]string `json:"seals"`
	Aliases []string          `json:"servers,omitempty"` // of MCP servers
}

// Pin describes the approved content.
func (r Record) Pin() string {
	pin := fmt.Sprintf("tree %.12s", r.Tree)
	if r.Commit != "" {
		pin = fmt.Sprintf("commit %.12s, %s", r.Commit, pin)
	}
	return pin
}

// Plugin is a plugin's content.
type Plugin struct {
	Name, Version, Format string
	Definitions           contextfiles.Plugin
	Servers               map[string]discover.Server
	Hooks                 []hook.Hook
	Notes                 []string // what is ignored
}

// Installed is an installed plugin.
type Installed struct {
	Name string
	Record
	*Plugin       // nil if Err is set
	Err     error // why nothing of it is used
}

// List returns the installed plugins, sorted by name.
func List(w Where) (all []Installed, err error) {
	entries, err := os.ReadDir(filepath.Join(w.Home, pluginsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list plugins: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), stagingDir) {
			i := Installed{Name: e.Name()}
			if i.Record, i.Err = w.record(i.Name); i.Err == nil {
				i.Plugin, i.Err = w.open(i)
			}
			all = append(all, i)
		}
	}
	return all, nil
}

// Load returns the plugins that can be used, and why others can't.
func Load(w Where) (usable []*Plugin, notes []string) {
	all, err := List(w)
	if err != nil {
		notes = append(notes, err.Error())
	}
	for _, i := range all {
		if i.Err != nil {
			notes = append(notes, fmt.Sprintf("warning: plugin %s is ignored: %v", i.Name, i.Err))
		} else {
			usable = append(usable, i.Plugin)
		}
	}
	return usable, notes
}

// open reads an installed plugin if it is as the user approved it.
func (w Where) open(i Installed) (*Plugin, error) {
	at, err := filepath.EvalSymlinks(w.dir(i.Name))
	if err != nil {
		return nil, err
	}
	dir, data := filepath.Join(at, treeDir), filepath.Join(at, dataDir)
	check := func() error {
		all, left, err := readTree(dir)
		if err == nil && (len(left) > 0 || all.hash() != i.Tree) {
			err = fmt.Errorf("its files changed since you approved it. Review with 'adze plugin update %s'", i.Name)
		}
		return err
	}
	if err := check(); err != nil {
		return nil, err
	}
	p, err := read(reading{tree: dir, root: dir, data: data, project: w.Project, lookup: w.Lookup})
	switch {
	case err != nil:
	case p.Name != i.Name:
		err = fmt.Errorf("its name is %s", p.Name)
	case len(p.Servers)+len(p.Hooks) > 0:
		err = os.MkdirAll(data, 0o700)
	}
	if err != nil {
		return nil, err
	}
	p.Definitions.Dir, p.Definitions.Seals = dir, i.Seals
	for n := range p.Hooks {
		p.Hooks[n].Check = check
	}
	return p, nil
}

// record reads what the user approved.
func (w Where) record(name string) (r Record, err error) {
	if !validName(name) {
		return r, fmt.Errorf("invalid plugin name %q", name)
	}
	raw, err := os.ReadFile(filepath.Join(w.dir(name), recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("plugin %s isn't installed\nSee 'adze plugin list'.", name)
	}
	r.Seals = map[string]string{} // without any, no definition is approved
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	return r, err
}

// Remove removes a plugin with its data and what is saved about its servers.
func Remove(ctx context.Context, w Where, name string) error {
	r, err := w.record(name)
	if _, missing := os.Lstat(w.dir(name)); err != nil && (missing != nil || !validName(name)) {
		return err
	}
	err = errors.Join(w.forget(ctx, r.Aliases), os.RemoveAll(w.dir(name)))
	_ = os.Remove(filepath.Join(w.Home, pluginsDir)) // if it was the last one
	return err
}

// forget removes what is saved about servers.
func (w Where) forget(ctx context.Context, aliases []string) (err error) {
	for _, alias := range aliases {
		err = errors.Join(err, discover.Forget(ctx, w.Servers, alias))
	}
	return err
}
