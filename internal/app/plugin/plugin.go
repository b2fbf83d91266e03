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
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/discover"
	"github.com/adze-dev/adze/hook"
	"github.com/adze-dev/adze/internal/engine/atomicfile"
	contextfiles "github.com/adze-dev/adze/internal/engine/context"
	"github.com/adze-dev/adze/internal/engine/humanize"
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
func List(w Where) ([]Installed, error) {
	entries, err := os.ReadDir(filepath.Join(w.Home, pluginsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list plugins: %w", err)
	}
	var all []Installed
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), stagingDir) {
			i := Installed{Name: e.Name()}
			i.Err = i.open(w)
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
func (i *Installed) open(w Where) (err error) {
	if i.Record, err = w.record(i.Name); err != nil {
		return err
	}
	dir, data := filepath.Join(w.dir(i.Name), treeDir), filepath.Join(w.dir(i.Name), dataDir)
	name, approved := i.Name, i.Tree
	check := func() error {
		all, left, err := readTree(dir)
		if err == nil && (len(left) > 0 || all.hash() != approved) {
			err = fmt.Errorf("its files changed since you approved it. Review with 'adze plugin update %s'", name)
		}
		return err
	}
	if err := check(); err != nil {
		return err
	}
	p, err := read(reading{tree: dir, root: dir, data: data, project: w.Project, lookup: w.Lookup})
	if err == nil && p.Name != i.Name {
		err = fmt.Errorf("its name is %s", p.Name)
	}
	if err == nil && len(p.Servers)+len(p.Hooks) > 0 {
		err = os.MkdirAll(data, 0o700)
	}
	if err != nil {
		return err
	}
	p.Definitions.Dir, p.Definitions.Seals = dir, i.Seals
	for n := range p.Hooks {
		p.Hooks[n].Check = check
	}
	i.Plugin = p
	return nil
}

func (w Where) record(name string) (r Record, err error) {
	if !validName(name) {
		return r, fmt.Errorf("invalid plugin name %q", name)
	}
	raw, err := os.ReadFile(filepath.Join(w.dir(name), recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("plugin %s isn't installed\nSee 'adze plugin list'.", name)
	}
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err == nil && r.Seals == nil { // none is approved, rather than all
		r.Seals = map[string]string{}
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

// staged is a plugin that the user hasn't approved. Nothing of it is used.
type staged struct {
	*Plugin
	Record
	old *Installed // the plugin that it replaces; nil: none

	where Where
	files tree
	dir   string // has them
}

// fetch copies a plugin's files. old is the plugin that they replace; nil: none. The caller must call drop.
func fetch(ctx context.Context, w Where, from Source, old *Installed) (_ *staged, err error) {
	parent := filepath.Join(w.Home, pluginsDir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("add a plugin: %w", err)
	}
	s := &staged{where: w, old: old, Record: Record{Source: from, Seals: map[string]string{}}}
	if s.dir, err = os.MkdirTemp(parent, stagingDir); err != nil {
		return nil, fmt.Errorf("add a plugin: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.drop())
		}
	}()
	source := from.Text
	if strings.Contains(source, "://") {
		if source, s.Commit, err = clone(ctx, w, from, s.dir); err != nil {
			return nil, err
		}
	}
	var left []string
	dir := filepath.Join(s.dir, treeDir)
	s.files, left, err = readTree(source)
	if err == nil {
		err = s.files.write(dir)
	}
	if err == nil {
		s.Tree = s.files.hash()
		s.Plugin, err = read(reading{tree: dir, root: "${PLUGIN_ROOT}", data: "${PLUGIN_DATA}"})
	}
	if err != nil {
		return nil, fmt.Errorf("read plugin %s: %w", from, err)
	}
	s.Notes, s.Aliases = append(s.Notes, left...), slices.Sorted(maps.Keys(s.Servers))
	_, recorded := w.record(s.Name)
	switch {
	case old != nil && s.Name != old.Name:
		return nil, fmt.Errorf("update plugin %s: the source has a plugin named %s now", old.Name, s.Name)
	case old == nil && recorded == nil:
		return nil, fmt.Errorf("plugin %s is already installed\nRun 'adze plugin update %[1]s', or remove it first.",
			s.Name)
	}
	return s, nil
}

// drop removes the files that were not installed.
func (s *staged) drop() error {
	err := os.RemoveAll(s.dir)
	_ = os.Remove(filepath.Dir(s.dir)) // if it has no other
	return err
}

// install saves the approval of the files, and installs them.
func (s *staged) install(ctx context.Context) error {
	for _, d := range s.sealed() {
		s.Seals[d.Path] = d.Seal
	}
	raw, err := humanize.JSON(s.Record)
	dir := s.where.dir(s.Name)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	// What was approved before isn't used if this is interrupted: its record isn't that of the new files.
	if err == nil {
		err = os.Rename(filepath.Join(dir, treeDir), filepath.Join(s.dir, "old"))
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Rename(filepath.Join(s.dir, treeDir), filepath.Join(dir, treeDir))
	}
	if err == nil {
		err = os.RemoveAll(filepath.Join(dir, recordFile))
	}
	if err == nil {
		_, err = atomicfile.Write(filepath.Join(dir, recordFile), append(raw, '\n'), atomicfile.Options{Mode: 0o600})
	}
	if err != nil {
		return fmt.Errorf("install plugin %s: %w", s.Name, err)
	}
	if s.old == nil {
		return nil
	}
	return s.where.forget(ctx, slices.DeleteFunc(s.old.Aliases, func(alias string) bool {
		return slices.Contains(s.Aliases, alias)
	}))
}

// sealed returns the definitions of the files that were fetched.
func (s *staged) sealed() []contextfiles.Sealed {
	d := s.Definitions
	d.Dir = filepath.Join(s.dir, treeDir)
	all, _ := contextfiles.Places{Plugins: []contextfiles.Plugin{d}}.Sealed()
	return all
}
