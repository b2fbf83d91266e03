package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/adze-dev/adze/internal/engine/document"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

//go:embed notebook_edit.md
var notebookEditText string

type notebookEditArgs struct {
	Path   string  `json:"notebook_path" alias:"file_path,absolute_path" description:"Absolute path of the .ipynb file."`
	Cell   string  `json:"cell_id,omitempty" description:"Cell ID. With insert, the new cell goes after it; omit to insert at the top."`
	Source *string `json:"new_source,omitempty" description:"New text of the cell; omit for delete."`
	Type   string  `json:"cell_type,omitempty" enum:"code,markdown" description:"Cell type: code or markdown (default: unchanged; code for new cells)."`
	Mode   string  `json:"edit_mode,omitempty" enum:"replace,insert,delete" default:"replace" description:"replace the cell, insert a new cell, or delete the cell."`
}

// The documented error types of notebook edits.
const (
	notebookFailure     tool.ErrorType = "notebook_edit_failure"
	notebookInvalidJSON tool.ErrorType = "notebook_invalid_json"
	notebookNoCell      tool.ErrorType = "notebook_cell_not_found"
)

var toEditNotebook = action{"edit", notebookFailure}

func notebookEdit(f *files) tool.Tool {
	return tool.Define(tool.Def[notebookEditArgs]{
		Name: "notebook_edit", DisplayName: "NotebookEdit",
		Summary:     "Edit a cell of a Jupyter notebook",
		Description: strings.TrimSpace(notebookEditText), Kind: tool.Edit,
		Prepare: func(ctx context.Context, a notebookEditArgs) (*tool.Invocation, error) {
			e, err := a.edit()
			if err != nil {
				return nil, err
			}
			p, err := f.at(toEditNotebook, "notebook_path", a.Path, ignore.File)
			inv := &tool.Invocation{
				Description: strings.TrimSpace(fmt.Sprintf("%s cell %s", a.Mode, a.Cell)) + " of " + p.Rel,
				Access:      writes(p.Abs),
			}
			if err != nil {
				return inv, err
			}
			c, err := f.reviseNotebook(p, e)
			if err != nil {
				return inv, err
			}
			f.invoke(inv, []*change{c.change}, func(_ []*change, notes []string, _ tool.Dialect) string {
				return f.notebookSaid(c, a, notes[0])
			}, nil)
			return inv, nil
		},
	})
}

// edit returns the requested change of a cell.
func (a notebookEditArgs) edit() (document.CellEdit, error) {
	e := document.CellEdit{ID: a.Cell, Type: a.Type}
	var bad []tool.Violation
	if !strings.EqualFold(filepath.Ext(a.Path), ".ipynb") {
		bad = append(bad, tool.Violation{
			Param: "notebook_path", Reason: "must end in .ipynb; this tool changes only notebooks",
		})
	}
	if a.Source != nil {
		e.Source = *a.Source
	} else if a.Mode != "delete" {
		bad = append(bad, tool.Violation{
			Param: "new_source", Reason: "is required (a string) to " + a.Mode + " a cell",
		})
	}
	if a.Cell == "" && a.Mode != "insert" {
		bad = append(bad, tool.Violation{
			Param: "cell_id", Reason: "is required (a string) to " + a.Mode +
				" a cell; the notebook's content, as it is read, shows the ids",
		})
	}
	if len(bad) > 0 {
		return e, &tool.ParamError{Violations: bad}
	}
	switch a.Mode {
	case "insert":
		e.Mode = document.InsertCell
	case "delete":
		e.Mode = document.DeleteCell
	}
	return e, nil
}

// notebookChange is a change of a cell.
type notebookChange struct {
	*change
	cell   string
	stable bool // IDs still name the same cells
}

func (f *files) reviseNotebook(p workspace.Path, e document.CellEdit) (*notebookChange, error) {
	a := toEditNotebook
	o, err := f.original(a, p)
	if err != nil {
		return nil, err
	}
	if err := f.checkEditable(a, o); err != nil {
		return nil, err
	}
	nb, err := document.ParseNotebook(o.bytes())
	if err != nil {
		return nil, a.errorf(notebookInvalidJSON, p, "%w%s", err, f.offer.hint("edit", "; fix it with edit"))
	}
	out, err := nb.Edit(e)
	var unknown *document.CellNotFoundError
	var several *document.AmbiguousCellError
	switch {
	case errors.As(err, &unknown):
		return nil, a.errorf(notebookNoCell, p, "%w", err)
	case errors.As(err, &several):
		return nil, a.errorf(tool.InvalidParams, p, "%w", err)
	case err != nil:
		return nil, a.failure(p, err)
	}
	now, err := text.DecodeAs(out.Data, text.UTF8)
	if err != nil {
		return nil, a.failure(p, err)
	}
	c := &notebookChange{o.with(a, now), out.ID, nb.StableIDs() || e.Mode == document.ReplaceCell}
	if c.none() {
		return nil, a.errorf(editNoChange, p, "cell %s already is exactly this; nothing was changed", out.ID)
	}
	return c, nil
}

// notebookSaid records what the session has read of the notebook, and returns the result. Where IDs are positions, an
// added or removed cell changes them, and the notebook must be read again.
func (f *files) notebookSaid(c *notebookChange, a notebookEditArgs, notes string) string {
	p := c.was.path
	said := fmt.Sprintf("Notebook %s has been updated. %s cell %s.%s", p.Abs, a.Mode, c.cell, notes)
	if !c.stable {
		f.seen.Forget(p.Abs)
		return said + "\nThe cells have no ids, so the ids of those after it have changed: read the " +
			"notebook again before the next edit."
	}
	f.seen.RecordEdit(p.Abs, c.was.hash, c.newHash(), text.Lines(c.now.Text))
	if a.Source != nil && a.Mode != "delete" {
		said += "\n\n" + *a.Source
	}
	return said
}
