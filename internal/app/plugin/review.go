package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/app/trust"
	"github.com/adze-dev/adze/internal/engine/atomicfile"
	contextfiles "github.com/adze-dev/adze/internal/engine/context"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// Review fetches a plugin, shows what it may run and what changed, and installs it if agree returns nil. old is the
// plugin that it replaces; nil: none.
func Review(ctx context.Context, w Where, from Source, old *Installed, out io.Writer, agree func() error) (err error) {
	if old != nil && old.Tree == "" { // its record can't be read
		return old.Err
	}
	parent := filepath.Join(w.Home, pluginsDir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fmt.Errorf("add a plugin: %w", err)
	}
	dir, err := os.MkdirTemp(parent, stagingDir)
	if err != nil {
		return fmt.Errorf("add a plugin: %w", err)
	}
	defer func() {
		err = errors.Join(err, os.RemoveAll(dir))
		_ = os.Remove(parent) // if it has no other
	}()
	s, err := w.fetch(ctx, from, dir)
	_, recorded := w.record(s.Name)
	switch {
	case err != nil:
		return fmt.Errorf("read plugin %s: %w", from, err)
	case old == nil && recorded == nil:
		return fmt.Errorf("plugin %s is already installed\nRun 'adze plugin update %[1]s', or remove it first.", s.Name)
	case old != nil && s.Name != old.Name:
		return fmt.Errorf("update plugin %s: the source has a plugin named %s now", old.Name, s.Name)
	case old != nil && old.Err == nil && old.Tree == s.Tree && maps.Equal(old.Seals, s.Seals):
		_, err := fmt.Fprintf(out, "%s is up to date (%s).\n", old.Name, old.Pin())
		return err
	}
	fmt.Fprintf(out, "Plugin %s %s (%s) from %s, %s:\n%s", s.Name, tool.Visible(s.Version), s.Format,
		tool.Visible(from.String()), s.Pin(), s.describe())
	for _, n := range s.Notes {
		fmt.Fprintln(out, "note: "+tool.Visible(n))
	}
	if old != nil {
		fmt.Fprint(out, "Changes:\n", tool.Visible(s.changes(w.dir(s.Name))))
	}
	if err = agree(); err == nil {
		err = w.install(s)
	}
	if err == nil && old != nil {
		err = w.forget(ctx, slices.DeleteFunc(slices.Clone(old.Aliases), func(alias string) bool {
			return slices.Contains(s.Aliases, alias)
		}))
	}
	if err == nil {
		_, err = fmt.Fprintf(out, "Installed %s. It takes effect in new sessions.\n", s.Name)
	}
	return err
}

// staged is a plugin that the user hasn't approved. Nothing of it is used.
type staged struct {
	Plugin
	Record
	files       tree
	dir         string // has them
	definitions []contextfiles.Sealed
}

// fetch copies a plugin's files to a directory.
func (w Where) fetch(ctx context.Context, from Source, dir string) (s staged, err error) {
	s.Source = from
	source := from.Text
	if strings.Contains(source, "://") {
		if source, s.Commit, err = w.clone(ctx, from, dir); err != nil {
			return s, err
		}
	}
	files, left, err := readTree(source)
	to := filepath.Join(dir, treeDir)
	if err == nil {
		err = files.write(to)
	}
	if err == nil {
		err = s.read(to)
	}
	s.Notes = append(s.Notes, left...)
	return s, err
}

// read reads a plugin as it is written.
func (s *staged) read(dir string) error {
	files, _, err := readTree(dir)
	if err != nil {
		return err
	}
	p, err := read(reading{tree: dir, root: "${PLUGIN_ROOT}", data: "${PLUGIN_DATA}"})
	if err != nil {
		return err
	}
	p.Definitions.Dir = dir
	s.Plugin, s.files, s.dir, s.Tree, s.Seals = *p, files, dir, files.hash(), map[string]string{}
	s.Aliases = slices.Sorted(maps.Keys(s.Servers))
	for _, d := range (contextfiles.Places{Plugins: []contextfiles.Plugin{p.Definitions}}).Sealed() {
		if d.Err != nil {
			s.Notes = append(s.Notes, d.Err.Error())
			continue
		}
		s.definitions, s.Seals[d.Path] = append(s.definitions, d), d.Seal
	}
	return nil
}

// install saves the approval of the files, and installs them. If it is interrupted, nothing of the plugin is used.
func (w Where) install(s staged) error {
	dir := w.dir(s.Name)
	raw, err := humanize.JSON(s.Record)
	if err == nil {
		err = errors.Join(os.RemoveAll(filepath.Join(dir, recordFile)), os.RemoveAll(filepath.Join(dir, treeDir)),
			os.MkdirAll(dir, 0o700))
	}
	if err == nil {
		err = os.Rename(s.dir, filepath.Join(dir, treeDir))
	}
	if err == nil {
		_, err = atomicfile.Write(filepath.Join(dir, recordFile), append(raw, '\n'), atomicfile.Options{Mode: 0o600})
	}
	if err != nil {
		return fmt.Errorf("install plugin %s: %w", s.Name, err)
	}
	return nil
}

// describe returns what the plugin adds, and what it may run.
func (s *staged) describe() string {
	var items []trust.Item
	for _, alias := range s.Aliases {
		text, _ := humanize.JSON(s.Servers[alias]) // it was read from JSON
		items = append(items, trust.Adds("MCP server "+alias, string(text), s.Servers[alias].Command != ""))
	}
	for _, h := range s.Hooks {
		what := strings.TrimSpace("hook " + string(h.Event) + " " + h.Matcher)
		items = append(items, trust.Adds(what, h.Command+h.URL+h.Prompt, true))
	}
	for _, d := range s.definitions {
		text := strings.TrimSpace(d.Path + " " + strings.Join(d.Runs, "; "))
		items = append(items, trust.Adds(d.What, text, len(d.Runs) > 0))
	}
	if len(items) == 0 {
		return "  It adds nothing.\n"
	}
	return trust.Describe(items)
}

// maxDiff is the maximum size of the differences of files that an update shows.
const maxDiff = 64 << 10

// changes returns how an update differs from the plugin that is installed in a directory: what it may run, and its
// files. What can't be read is shown as new.
func (s *staged) changes(dir string) string {
	var old staged
	_ = old.read(filepath.Join(dir, treeDir))
	b := edit.Compare(old.describe(), s.describe()).Unified("approved", "new")
	all := maps.Clone(s.files)
	maps.Copy(all, old.files)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		before, after := old.files[path], s.files[path]
		diff := edit.Compare(before.content, after.content).Unified(path, path)
		whole := len(b)+len(diff) <= maxDiff && utf8.ValidString(diff)
		if before.mode != after.mode || before.content != after.content && !whole {
			b += fmt.Sprintf("%s: %s → %s\n", path, before.mode, after.mode)
		}
		if whole {
			b += diff
		}
	}
	return b
}
