package builtin

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/atomicfile"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/leftover"
	"github.com/adze-dev/adze/internal/engine/text"
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
	p := &patch{files: f, dir: dir}
	inv := &tool.Invocation{}
	for _, one := range parsed {
		access, err := p.add(one)
		for _, a := range access {
			if !slices.Contains(inv.Access, a) {
				inv.Access = append(inv.Access, a)
			}
		}
		inv.Description = p.described()
		if err != nil {
			return inv, err
		}
	}
	p.invocation(inv)
	if c := p.only(); c != nil && !c.large() {
		shown := inv.Confirm.(tool.FileDiff)
		inv.Rework = func(text string) json.RawMessage {
			return rework(applyPatchArgs{edit.WholePatch(shown.Path, shown.Original, text)})
		}
	}
	return inv, nil
}

// invocation shows the changes, and makes them.
func (p *patch) invocation(inv *tool.Invocation) *tool.Invocation {
	shown := p.fileDiff()
	inv.Confirm = shown
	for _, one := range p.list {
		inv.Replaces = append(inv.Replaces, one.replaces()...)
	}
	inv.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
		said, err := p.commit(ctx)
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Result{Content: []tool.Part{tool.Text(said)}, Display: shown}, nil
	}
	return inv
}

// patch is the changes of a call.
type patch struct {
	files *files
	dir   string // in which relative paths begin
	list  []patchedFile
	names []string // what is done to which file
	paths map[string]int
}

// patchedFile is the change of one file.
type patchedFile struct {
	*revision
	line  int // of the patch
	kind  edit.PatchKind
	moved bool // the second part of a move: the old name is deleted
}

// add plans the change of one file. It returns the access, also with an error.
func (p *patch) add(one edit.FilePatch) ([]tool.Access, error) {
	at, err := p.resolve(one, one.Path)
	access := writes(at.Abs)
	p.names = append(p.names, strings.ToLower(string(one.Kind))+" "+at.Rel)
	if err != nil {
		return access, err
	}
	r := &revision{}
	switch one.Kind {
	case edit.PatchAdd:
		r.change, err = p.created(at, one.Content, nil)
	case edit.PatchDelete:
		r.change, err = p.deleted(at)
	default:
		if r, err = p.files.reviseHunks(at, one.Hunks); err == nil && one.To != "" {
			return p.move(at, r, one, access)
		}
	}
	if err != nil {
		return access, atLine(one.Line, err)
	}
	p.list = append(p.list, patchedFile{revision: r, line: one.Line, kind: one.Kind})
	return access, nil
}

// move plans a new file with the changed content, and the deletion of the old one.
func (p *patch) move(from workspace.Path, r *revision, one edit.FilePatch, access []tool.Access) ([]tool.Access,
	error) {
	to, err := p.resolve(one, one.To)
	p.names[len(p.names)-1] = "move " + from.Rel + " to " + to.Rel
	access = append(access, writes(to.Abs)...)
	if err != nil {
		return access, err
	}
	created, err := p.created(to, "", r.now)
	if err == nil {
		var deleted *change
		if deleted, err = p.deleted(from); err == nil {
			p.list = append(p.list, patchedFile{&revision{change: created}, one.Line, edit.PatchAdd, false},
				patchedFile{&revision{change: deleted}, one.Line, edit.PatchDelete, true})
		}
	}
	return access, atLine(one.Line, err)
}

// atLine adds the line of the patch to an error.
func atLine(line int, err error) error {
	var hunk *edit.HunkError
	if err == nil || errors.As(err, &hunk) {
		return err
	}
	return fmt.Errorf("line %d of the patch: %w", line, err)
}

// resolve resolves a path of a patch, which must be its only mention of the file.
func (p *patch) resolve(one edit.FilePatch, name string) (workspace.Path, error) {
	if name = strings.TrimSpace(name); !filepath.IsAbs(name) && name != "" {
		name = filepath.Join(p.dir, name) // as models are trained to name files in patches
	}
	at, err := p.files.at(toPatch, "input", name, ignore.File)
	if err != nil {
		return at, err
	}
	if line := p.paths[at.Abs]; line > 0 {
		return at, tool.BadParam("input", "line %d of the patch: %s is already in line %d. Put all changes of a file "+
			"under one header. Nothing was changed.", one.Line, at.Rel, line)
	}
	if p.paths == nil {
		p.paths = map[string]int{}
	}
	p.paths[at.Abs] = one.Line
	return at, nil
}

// created plans a new file: with a content, or with that of a moved file.
func (p *patch) created(at workspace.Path, content string, now *text.Document) (*change, error) {
	o, err := p.files.original(toPatch, at)
	if err != nil {
		return nil, err
	}
	if o.exists {
		return nil, toPatch.errorf(createOfExisting, at, "it exists. Use \"*** Update File:\" to change it, or delete "+
			"it first in another call")
	}
	if now == nil {
		if content, err = p.files.restore(toPatch, o, content); err != nil {
			return nil, err
		}
		if now, err = text.DecodeAs([]byte(content), text.UTF8); err != nil {
			return nil, toPatch.failure(at, err)
		}
	}
	return o.with(toPatch, now)
}

// deleted plans the deletion of a file.
func (p *patch) deleted(at workspace.Path) (*change, error) {
	given := at.Given
	if dir, err := filepath.EvalSymlinks(filepath.Dir(given)); err == nil {
		given = filepath.Join(dir, filepath.Base(given))
	}
	if info, err := os.Lstat(given); filepath.IsAbs(given) && err == nil && info.Mode()&os.ModeSymlink != 0 {
		return nil, toPatch.errorf(editPreparation, at, "it is reached by a link. Name the file, or use a command")
	}
	o, err := p.files.original(toPatch, at)
	if err != nil {
		return nil, err
	}
	if err := p.files.checkEditable(toPatch, o); err != nil {
		return nil, err
	}
	nothing, err := text.DecodeAs(nil, text.UTF8)
	if err != nil {
		return nil, toPatch.failure(at, err)
	}
	return o.with(toPatch, nothing)
}

// only returns the change if it is one file's content; otherwise nil.
func (p *patch) only() *change {
	if len(p.list) == 1 && p.list[0].kind != edit.PatchDelete {
		return p.list[0].change
	}
	return nil
}

// described is what the patch does, in one line.
func (p *patch) described() string {
	const most = 3
	if n := len(p.names); n > most {
		return strings.Join(p.names[:most], ", ") + ", and " + humanize.Count(n-most, "more file")
	}
	return strings.Join(p.names, ", ")
}

// fileDiff shows all changes as one diff.
func (p *patch) fileDiff() tool.FileDiff {
	if c := p.only(); c != nil {
		return c.fileDiff()
	}
	all := tool.FileDiff{File: humanize.Count(len(p.names), "file"), Stat: &tool.DiffStat{}}
	for _, one := range p.list {
		d := one.fileDiff()
		at := one.was.path.Rel
		old, now := at+"\tCurrent", at+"\tProposed"
		if one.kind == edit.PatchDelete {
			now = "/dev/null"
		}
		if _, body, ok := strings.Cut(d.Diff, "\n@@"); ok {
			all.Diff += fmt.Sprintf("--- %s\n+++ %s\n@@%s", old, now, body)
		}
		all.Stat.ModelAddedLines += d.Stat.ModelAddedLines
		all.Stat.ModelRemovedLines += d.Stat.ModelRemovedLines
		all.Stat.ModelAddedChars += d.Stat.ModelAddedChars
		all.Stat.ModelRemovedChars += d.Stat.ModelRemovedChars
		for _, w := range d.Warnings {
			all.Warnings = append(all.Warnings, at+": "+w)
		}
		if one.kind == edit.PatchDelete && !one.moved {
			all.Warnings = append(all.Warnings, "deletes "+at)
		}
	}
	return all
}

// commit makes all changes, or none, and returns the result for the model.
func (p *patch) commit(ctx context.Context) (string, error) {
	var notes []string
	if c := p.only(); c != nil {
		note, err := p.files.commit(ctx, c)
		if err != nil {
			return "", err
		}
		notes = []string{note}
	} else if err := ctx.Err(); err != nil {
		return "", err
	} else if notes, err = p.commitAll(); err != nil {
		return "", err
	}
	var said []string
	for i, one := range p.list {
		at := one.was.path
		if one.kind == edit.PatchDelete {
			p.files.seen.Forget(at.Abs)
			said = append(said, fmt.Sprintf("Deleted file: %s.", at.Abs))
			continue
		}
		one.record(p.files.seen)
		said = append(said, one.said(notes[i]))
	}
	return strings.Join(said, "\n"), nil
}

// commitAll writes several files.
func (p *patch) commitAll() (notes []string, err error) {
	f := p.files
	var steps []atomicfile.Step
	for i, one := range p.list {
		o := atomicfile.Options{Backup: f.state, Canonical: true, Roots: f.ws.Roots(), Sums: f.sums}
		if one.was.exists {
			o.Old = &one.was.hash
		}
		at := one.was.path.Abs
		step := atomicfile.Step{Path: at, Content: one.now, Options: o}
		if one.kind == edit.PatchDelete {
			step.Content = nil
		} else if i+1 < len(p.list) && p.list[i+1].moved {
			if info, err := p.list[i+1].was.path.Stat(); err == nil {
				step.Options.Mode = info.Mode().Perm()
			}
		}
		f.left.writing(filepath.Dir(at))
		steps = append(steps, step)
	}
	out, err := atomicfile.All(f.left.batch(f.state), steps)
	var failed *atomicfile.StepError
	if errors.As(err, &failed) {
		return nil, atLine(p.list[failed.Index].line, p.list[failed.Index].failed(failed.Err))
	}
	if err != nil {
		return nil, tool.Errorf(fileWriteFailure, "patch: %w. Nothing was changed", err)
	}
	for _, o := range out {
		notes = append(notes, outcomeNotes(o))
	}
	return notes, nil
}

// batchPrefix is the prefix of directories with the old contents of files that a patch changes.
const batchPrefix = "patch-"

// batch returns a new directory for the old contents of files, which a later session restores if this one is killed.
func (l *leftovers) batch(state string) string {
	if state == "" || l.log == nil {
		return ""
	}
	var random [8]byte
	rand.Read(random[:])
	dir := filepath.Join(state, batchPrefix+hex.EncodeToString(random[:]))
	if l.log.Add(leftover.Batch, dir) != nil {
		return ""
	}
	return dir
}

// reviseHunks computes the change that parts of a patch make to a file.
func (f *files) reviseHunks(p workspace.Path, hunks []edit.Hunk) (*revision, error) {
	o, err := f.original(toPatch, p)
	if err != nil {
		return nil, err
	}
	if err := f.checkEditable(toPatch, o); err != nil {
		return nil, err
	}
	if len(hunks) == 0 { // it is only moved
		return &revision{change: &change{action: toPatch, was: o, now: o.doc}}, nil
	}
	hunks = slices.Clone(hunks)
	for i := range hunks {
		if err := f.restoreAll(toPatch, o, &hunks[i].Old, &hunks[i].New); err != nil {
			return nil, err
		}
	}
	result, err := edit.ApplyHunks(o.doc.Text, hunks)
	if err != nil {
		return nil, f.missed(toPatch, p, err)
	}
	return o.revised(toPatch, result)
}
