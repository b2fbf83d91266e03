package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adze-dev/adze/internal/app/trust"
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
	s, err := fetch(ctx, w, from, old)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.drop()) }()
	if old != nil && old.Err == nil && old.Tree == s.Tree {
		_, err := fmt.Fprintf(out, "%s is up to date (%s).\n", old.Name, old.Pin())
		return err
	}
	fmt.Fprintf(out, "Plugin %s %s (%s) from %s, %s:\n%s", s.Name, tool.Visible(s.Version), s.Format,
		tool.Visible(from.String()), s.Pin(), s.describe())
	for _, n := range s.Notes {
		fmt.Fprintln(out, "note: "+tool.Visible(n))
	}
	if old != nil {
		fmt.Fprint(out, "Changes:\n", tool.Visible(s.changes()))
	}
	if err = agree(); err == nil {
		err = s.install(ctx)
	}
	if err == nil {
		_, err = fmt.Fprintf(out, "Installed %s. It takes effect in new sessions.\n", s.Name)
	}
	return err
}

// describe returns what the plugin adds, and what it may run.
func (s *staged) describe() string {
	var items []trust.Item
	for _, alias := range slices.Sorted(maps.Keys(s.Servers)) {
		item := trust.Item{Effect: trust.AddsTools, What: "MCP server " + alias}
		if s.Servers[alias].Command != "" {
			item.Effect = trust.RunsProgram
		}
		text, _ := humanize.JSON(s.Servers[alias]) // it was read from JSON
		item.Text = string(text)
		items = append(items, item)
	}
	for _, h := range s.Hooks {
		what := strings.TrimSpace("hook " + string(h.Event) + " " + h.Matcher)
		items = append(items, trust.Item{Effect: trust.RunsProgram, What: what, Text: h.Command + h.URL + h.Prompt})
	}
	for _, d := range s.sealed() {
		item := trust.Item{Effect: trust.AddsTools, What: d.What, Text: d.Path}
		if len(d.Runs) > 0 {
			item.Effect, item.Text = trust.RunsProgram, d.Path+" "+strings.Join(d.Runs, "; ")
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		return "  It adds nothing.\n"
	}
	return trust.Describe(items)
}

// maxDiff is the maximum size of the differences of files that an update shows.
const maxDiff = 64 << 10

// changes returns how an update differs from the installed plugin: what it may run, and its files.
func (s *staged) changes() string {
	old := &staged{dir: s.where.dir(s.Name), Plugin: &Plugin{}}
	dir := filepath.Join(old.dir, treeDir)
	if p, err := read(reading{tree: dir, root: "${PLUGIN_ROOT}", data: "${PLUGIN_DATA}"}); err == nil {
		old.Plugin = p
	}
	old.files, _, _ = readTree(dir) // what can't be read is shown as new
	var b strings.Builder
	b.WriteString(edit.Compare(old.describe(), s.describe()).Unified("approved", "new"))
	all := maps.Clone(s.files)
	maps.Copy(all, old.files)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		before, after := old.files[path], s.files[path]
		if before == after {
			continue
		}
		kind, content, _ := strings.Cut(after, "\n")
		was, earlier, _ := strings.Cut(before, "\n")
		diff := edit.Compare(earlier, content).Unified(path, path)
		if kind != was || diff == "" || b.Len()+len(diff) > maxDiff || !utf8.ValidString(diff) {
			fmt.Fprintf(&b, "%s: %q → %q\n", path, was, kind)
		}
		if b.Len()+len(diff) <= maxDiff && utf8.ValidString(diff) {
			b.WriteString(diff)
		}
	}
	return b.String()
}
