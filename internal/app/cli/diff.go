package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/adze-dev/adze/internal/app/project"
	"github.com/adze-dev/adze/internal/app/record"
	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/internal/app/slash"
	"github.com/adze-dev/adze/internal/app/undo"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

const diffUsage = "diff [SESSION|CALL] [--session ID] [--stat|--json] [-- PATH…]"

// pathsOf returns the paths after --, as in the journal.
func pathsOf(directory project.Directory, o *options) []string {
	var out []string
	for _, p := range o.paths {
		out = append(out, directory.Journaled(p))
	}
	return out
}

// runDiff prints what a session or a call changed.
func runDiff(_ context.Context, env Env, o *options, s *session.Session, words []string) error {
	words = words[:len(words)-len(o.paths)]
	if len(words) > 1 || o.undo.stat && o.json {
		return usagef("usage: adze %s", diffUsage)
	}
	call := ""
	if len(words) == 1 {
		call = words[0]
		if o.undo.session == "" && startsUUID(call) {
			o.undo.session, call = call, ""
		}
	}
	id, err := undoSession(s.Directory, o)
	if err != nil {
		return err
	}
	d, err := record.Of(s.Directory).Diff(id, call, pathsOf(s.Directory, o))
	if err != nil {
		return record.SessionError(err)
	}
	store, err := undo.OpenStore(s.Directory.Home, id)
	if err != nil {
		return err
	}
	defer store.Close()
	omitted, err := printDiff(env.Stdout, o, d, s.Effects.Differ(store))
	if err != nil || len(omitted) == 0 {
		return err
	}
	if !o.json {
		for _, l := range omitted {
			fmt.Fprint(env.Stderr, slash.LeftLine(undo.Left{Path: l.Path, Why: l.Why}, s.Directory.Path))
		}
	}
	return exitf(exitDenied, "%s not in the diff", humanize.Count(len(omitted), "path"))
}

// printDiff prints a diff in the selected form, and returns what isn't in it.
func printDiff(w io.Writer, o *options, d record.Diff, differ undo.Differ) ([]undo.Lost, error) {
	type omittedPath struct {
		Path string `json:"path"`
		Why  string `json:"why"`
	}
	out := struct {
		Session string         `json:"session"`
		Call    string         `json:"call,omitempty"`
		Changes []undo.Patched `json:"changes"`
		Omitted []omittedPath  `json:"omitted,omitempty"`
	}{d.ID, d.Call, []undo.Patched{}, nil}
	var added, removed, files int
	omitted, err := d.Each(differ, func(p undo.Patched) error {
		files++
		if p.Lines != nil {
			added, removed = added+p.Lines.Added, removed+p.Lines.Removed
		}
		var err error
		switch {
		case o.json:
			out.Changes = append(out.Changes, p)
		case o.undo.stat:
			_, err = fmt.Fprintf(w, " %s | %s\n", tool.Visible(p.Name), p.StatLine())
		default:
			_, err = io.WriteString(w, p.Patch)
		}
		return err
	})
	switch {
	case err != nil:
	case o.json:
		for _, l := range omitted {
			out.Omitted = append(out.Omitted, omittedPath{l.Path, l.Why})
		}
		err = printJSON(w, out)
	case o.undo.stat:
		_, err = fmt.Fprintf(w, " %s changed, +%d -%d\n", humanize.Count(files, "file"), added, removed)
	}
	return omitted, err
}
