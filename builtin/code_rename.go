package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
func (f *files) prepareRename(ctx context.Context, s *servers, a codeArgs, p workspace.Path, inv *tool.Invocation) (
	*tool.Invocation, error) {
	edits, err := s.Rename(ctx, lsp.Place{Path: p.Abs, Line: a.Line, Name: a.Name}, a.NewName, s.wait)
	var starting *lsp.StartingError
	if errors.As(err, &starting) {
		text, _ := s.failed(a, p, err)
		inv.Run = func(context.Context, *tool.Live) (tool.Result, error) { return tool.TextResult(text), nil }
		return inv, nil
	}
	if err != nil {
		_, err = s.failed(a, p, err)
		return inv, err
	}
	if len(edits) == 0 {
		return inv, tool.Errorf(editNoChange, "rename %s: the language server found nothing to change",
			command.Label(a.Name))
	}
	var list []*change
	var names []string
	inv.Access = nil
	for _, e := range edits {
		at, err := f.at(toRename, "file_path", e.Path, ignore.File)
		inv.Access = append(inv.Access, writes(at.Abs)...)
		if err != nil {
			return inv, err
		}
		r, err := f.renamed(at, e)
		if err != nil {
			return inv, err
		}
		list, names = append(list, r), append(names, "update "+at.Rel)
	}
	inv.Description = a.described(p) + " in " + described(names)
	f.invoke(inv, list, f.said, nil)
	const shown = 3 // files whose changed lines the model reads
	if run := inv.Run; len(edits) > shown {
		inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
			out, err := run(ctx, l)
			if err == nil {
				out.Content = []tool.Part{tool.Text(a.described(p) + " changed:\n" + counted(edits))}
			}
			return out, err
		}
	}
	return inv, nil
}

// counted lists changed files, with the number of changed places in each.
func counted(edits []lsp.FileEdit) string {
	var b strings.Builder
	for i, e := range edits {
		if i == maxCodeLines {
			fmt.Fprintf(&b, "[%s omitted]", humanize.Count(len(edits)-i, "more file"))
			break
		}
		fmt.Fprintf(&b, "%s: %s\n", tool.Visible(e.Path), humanize.Count(len(e.Edits), "place"))
	}
	return strings.TrimSuffix(b.String(), "\n")
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
	var result edit.Result
	for _, one := range e.Edits {
		result.Spans = append(result.Spans, edit.Span(one))
	}
	result.Matches = []edit.Match{{Places: make([]edit.Place, len(e.Edits))}}
	return o.revised(toRename, result)
}
