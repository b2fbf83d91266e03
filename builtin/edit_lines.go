package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

//go:embed edit_lines.md
var editLinesText string

type editLinesArgs struct {
	Path  string    `json:"file_path" alias:"absolute_path,path" description:"Absolute path of the file."`
	Edits []oneSpan `json:"edits" description:"Replacements of lines. All anchors are those before the call." minItems:"1"`
}

type oneSpan struct {
	First string `json:"first" description:"Anchor of the first line to replace, such as \"12:a3f\"."`
	Last  string `json:"last,omitempty" description:"Anchor of the last line to replace; omit it for one line."`
	New   string `json:"new_text" description:"Replacement lines, without anchors; empty: the lines are removed."`
}

const linesName = "edit_lines"

var toEditLines = action{"edit lines of", editPreparation}

func editLines(f *files) tool.Tool {
	return tool.Define(tool.Def[editLinesArgs]{
		Name: linesName, DisplayName: "EditLines",
		Summary:     "Replace lines in a file by their anchors",
		Description: strings.TrimSpace(editLinesText), RuleNames: editNames(linesName), Kind: tool.Edit,
		Deferred: true, Dialect: tool.AnchorDialect,
		Prepare: func(ctx context.Context, a editLinesArgs) (*tool.Invocation, error) {
			p, err := f.at(toEditLines, "file_path", a.Path, ignore.File)
			inv := &tool.Invocation{Description: "edit " + p.Rel, Access: writes(p.Abs)}
			if err != nil {
				return inv, err
			}
			r, err := f.reviseLines(p, a.Edits)
			if err != nil {
				return inv, err
			}
			f.invoke(inv, r, func(shown tool.FileDiff, text string) json.RawMessage {
				return rework(editLinesArgs{shown.Path, []oneSpan{oneSpan(edit.AllLines(r.was.doc.Text, text))}})
			})
			return inv, nil
		},
	})
}

// reviseLines computes the change that edits of lines make to a file.
func (f *files) reviseLines(p workspace.Path, spans []oneSpan) (*revision, error) {
	o, err := f.original(toEditLines, p)
	if err != nil {
		return nil, err
	}
	err = f.checkEditable(toEditLines, o)
	var changed *changedError
	if err != nil && !errors.As(err, &changed) {
		return nil, err
	}
	edits := make([]edit.LineEdit, len(spans))
	for i, e := range spans {
		edits[i] = edit.LineEdit(e)
		if err := f.restoreAll(toEditLines, o, &edits[i].New); err != nil {
			return nil, err
		}
	}
	result, missed := edit.ApplyLines(o.doc.Text, edits)
	var stale *edit.StaleError
	if errors.As(missed, &stale) {
		missed = toEditLines.errorf(editNotFound, p, "%w. Nothing was changed. The lines and their anchors now:%s",
			missed, stale.Around(o.doc.Text, o.mask(o.doc.Text)))
	}
	switch {
	case changed != nil && missed != nil:
		changed.error = fmt.Errorf("%w\n%w", changed.error, missed)
		return nil, changed
	case err != nil:
		return nil, err
	case missed != nil:
		return nil, f.missed(toEditLines, p, missed)
	}
	return o.revised(toEditLines, result)
}
