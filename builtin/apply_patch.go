package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

//go:embed apply_patch.md
var applyPatchText string

//go:embed apply_patch.lark
var applyPatchGrammar string

type applyPatchArgs struct {
	Input string `json:"input" alias:"patch,patchText,command" description:"The patch: *** Begin Patch, the files, *** End Patch."`
}

const (
	patchName = "apply_patch"
	editTitle = "Edit"
)

// editNames returns the names of all tools that edit a file, without one's own: a rule, a hook or a list that names one
// of them means all.
func editNames(without string) []string {
	all := []string{editName, "replace", patchName, linesName, editTitle, "MultiEdit"}
	return slices.DeleteFunc(all, func(name string) bool { return name == without })
}

var toPatch = action{"patch", editPreparation}

func applyPatch(f *files) tool.Tool { return applyPatchIn(f, f.ws.Project(), "") }

// applyPatchIn returns the tool with relative paths that begin in dir, and a note for the model in each result.
func applyPatchIn(f *files, dir, note string) tool.Tool {
	return tool.Define(tool.Def[applyPatchArgs]{
		Name: patchName, DisplayName: "ApplyPatch",
		Summary:     "Change files with a patch",
		Description: strings.TrimSpace(applyPatchText), RuleNames: editNames(patchName), Kind: tool.Edit,
		Deferred: true, Dialect: tool.PatchDialect, Grammar: applyPatchGrammar,
		Prepare: func(ctx context.Context, a applyPatchArgs) (*tool.Invocation, error) {
			inv, err := f.preparePatch(dir, a.Input)
			if inv != nil && note != "" {
				inv.Notes = append(inv.Notes, note)
			}
			return inv, err
		},
	})
}

// preparePatch plans the changes of a patch.
func (f *files) preparePatch(dir, input string) (*tool.Invocation, error) {
	parsed, err := edit.ParsePatch(input)
	if err != nil {
		return nil, tool.BadParam("input", "%v. Nothing was changed.", err)
	}
	inv := &tool.Invocation{}
	p := &patch{files: f, dir: dir, inv: inv, lines: map[string]int{}}
	for _, one := range parsed {
		err := p.add(one)
		inv.Description = humanize.List(p.names, 3)
		if err != nil {
			return inv, atLine(one.Line, err)
		}
	}
	f.invoke(inv, p.list, f.said, func(_ []*change, files []tool.FileDiff, texts []*string) any {
		return reworkedPatch(parsed, files, texts)
	})
	return inv, nil
}

// reworkedPatch returns a patch that gives each file the text that the user took, and omits files without one.
func reworkedPatch(parsed []edit.FilePatch, files []tool.FileDiff, texts []*string) applyPatchArgs {
	var kept []edit.FilePatch
	for i, one := range parsed {
		switch text := texts[i]; {
		case text == nil:
			continue
		case one.Kind == edit.PatchAdd:
			one.Content = *text
		case len(one.Hunks) > 0:
			one.Hunks = []edit.Hunk{{Old: *files[i].Original, New: *text}}
		}
		kept = append(kept, one)
	}
	return applyPatchArgs{edit.FormatPatch(kept)}
}

// patch is the changes of a call.
type patch struct {
	files *files
	dir   string // in which relative paths begin
	inv   *tool.Invocation
	list  []*change
	names []string       // what is done to which file
	lines map[string]int // of the patch, by the paths that they name
}

// orUpdate is what to do if an added file exists.
const orUpdate = `. Use "*** Update File:" to change it, or delete it first in another call`

// add plans the change of one file.
func (p *patch) add(one edit.FilePatch) error {
	at, err := p.resolve(one.Line, one.Path)
	p.names = append(p.names, strings.ToLower(string(one.Kind))+" "+at.Rel)
	if err != nil {
		return err
	}
	var c *change
	switch one.Kind {
	case edit.PatchAdd:
		var o original
		if o, err = p.files.fresh(toPatch, at, orUpdate); err == nil {
			c, err = p.files.withContent(toPatch, o, one.Content)
		}
	case edit.PatchDelete:
		c, err = p.deleted(at)
	default:
		var texts []*string
		for i := range one.Hunks {
			texts = append(texts, &one.Hunks[i].Old, &one.Hunks[i].New)
		}
		c, err = p.files.revise(toPatch, at, texts, func(o original) (edit.Result, error) {
			return edit.ApplyHunks(o.doc.Text, one.Hunks)
		})
		if err == nil && one.To != "" {
			return p.move(c, one)
		}
	}
	if err == nil {
		c.line = one.Line
		p.list = append(p.list, c)
	}
	return err
}

// move plans a new file with the changed content, and the deletion of the old one.
func (p *patch) move(c *change, one edit.FilePatch) error {
	from := c.was.path
	to, err := p.resolve(one.Line, one.To)
	p.names[len(p.names)-1] = "move " + from.Rel + " to " + to.Rel
	if err != nil {
		return err
	}
	o, err := p.files.fresh(toPatch, to, orUpdate)
	if err != nil {
		return err
	}
	deleted, err := p.deleted(from)
	if err != nil {
		return err
	}
	created := o.with(toPatch, c.now)
	if info, err := from.Stat(); err == nil {
		created.mode = info.Mode().Perm()
	}
	created.line, deleted.line, deleted.moved = one.Line, one.Line, true
	p.list = append(p.list, created, deleted)
	return nil
}

// atLine adds the line of the patch to an error.
func atLine(line int, err error) error {
	var part *edit.PatchError
	if line == 0 || errors.As(err, &part) {
		return err
	}
	return fmt.Errorf("line %d of the patch: %w", line, err)
}

// resolve resolves a path of a patch, which must be its only mention of the file.
func (p *patch) resolve(line int, name string) (workspace.Path, error) {
	if name = strings.TrimSpace(name); !filepath.IsAbs(name) && name != "" {
		name = filepath.Join(p.dir, name) // as models are trained to name files in patches
	}
	at, err := p.files.at(toPatch, fmt.Sprintf("input: line %d of the patch", line), name, ignore.File)
	p.inv.Access = append(p.inv.Access, writes(at.Abs)...)
	if known := p.lines[at.Abs]; err == nil && known > 0 {
		err = toPatch.errorf(tool.InvalidParams, at, "it is already in line %d. Put all changes of a file under one "+
			"header", known)
	}
	p.lines[at.Abs] = line
	return at, err
}

// deleted plans the deletion of a file.
func (p *patch) deleted(at workspace.Path) (*change, error) {
	if info, err := os.Lstat(at.Given); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return nil, toPatch.errorf(editPreparation, at, "it is reached by a link. Name the file, or use a command")
	}
	c, err := p.files.revise(toPatch, at, nil, func(o original) (edit.Result, error) {
		return edit.Result{Spans: []edit.Span{{End: len(o.doc.Text)}}}, nil
	})
	if err == nil {
		c.deletes = true
	}
	return c, err
}
