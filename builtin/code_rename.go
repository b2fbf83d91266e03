package builtin

import (
	"context"
	"fmt"

	"github.com/adze-dev/adze/builtin/command"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/lsp"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

var toRename = action{"rename in", editPreparation}

// prepareRename asks a server for the edits, and plans them as one change of all files.
func (f *files) prepareRename(ctx context.Context, s *servers, a codeArgs, p workspace.Path,
	inv *tool.Invocation) error {
	found, err := s.ask(ctx, a)
	if err != nil {
		text, err := s.failed(a, p, err)
		inv.Run = func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult(text), nil }
		return err
	}
	if len(found.Edits) == 0 {
		return tool.Errorf(editNoChange, "rename %s: the language server found nothing to change",
			command.Label(a.Name))
	}
	var list []*change
	inv.Access = nil
	lines := []string{a.described(p) + " changed:"}
	for _, e := range found.Edits {
		at, err := f.at(toRename, "file_path", e.Path, ignore.File)
		inv.Access = append(inv.Access, writes(at.Abs)...)
		if err != nil {
			return err
		}
		r, err := f.renamed(at, e)
		if err != nil {
			return err
		}
		list = append(list, r)
		lines = append(lines, fmt.Sprintf("%s: %s", e.Path, humanize.Count(len(e.Edits), "place")))
	}
	inv.Description = a.described(p) + " in " + humanize.Count(len(list), "file")
	f.invoke(inv, list, func(list []*change, notes []string, dialect tool.Dialect) string {
		f.said(list, notes, dialect)
		return s.bounded(lines, maxCodeLines, maxCodeBytes)
	}, nil)
	shown := inv.Confirm.(tool.FileDiff)
	for _, why := range found.Missing {
		why = "the rename may be incomplete: " + tool.Visible(s.mask(why))
		shown.Warnings, inv.Notes = append(shown.Warnings, why), append(inv.Notes, why)
	}
	inv.Confirm = shown
	return nil
}

// renamed returns the change of one file. It needn't have been read: the server knows its names.
func (f *files) renamed(at workspace.Path, e lsp.FileEdit) (*change, error) {
	o, err := f.original(toRename, at)
	switch {
	case err != nil:
		return nil, err
	case !o.exists || o.doc == nil || o.doc.Text != e.Text || at.Abs != e.Path:
		return nil, toRename.errorf(changedSinceRead, at, "it changed while the rename was prepared. Try again")
	}
	matches := []edit.Match{{Places: make([]edit.Place, len(e.Edits))}}
	return o.revised(toRename, edit.Result{Spans: e.Edits, Matches: matches})
}
