package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

//go:embed edit.md
var editText string

type editArgs struct {
	Path  string    `json:"file_path" alias:"absolute_path,path" description:"Absolute path of the file."`
	Old   *string   `json:"old_string,omitempty" description:"Exact text to replace."`
	New   *string   `json:"new_string,omitempty" description:"Replacement text."`
	All   bool      `json:"replace_all,omitempty" description:"Replace every occurrence." ignored:"instruction,expected_replacements"`
	Edits []oneEdit `json:"edits,omitempty" description:"Several replacements, instead of old_string, new_string and replace_all." minItems:"1"`
}

type oneEdit struct {
	Old string `json:"old_string" description:"Exact text to replace."`
	New string `json:"new_string" description:"Replacement text."`
	All bool   `json:"replace_all,omitempty" description:"Replace every occurrence."`
}

// The documented error types of edits.
const (
	editPreparation  tool.ErrorType = "edit_preparation_failure"
	editNotFound     tool.ErrorType = "edit_no_occurrence_found"
	editAmbiguous    tool.ErrorType = "edit_expected_occurrence_mismatch"
	editNoChange     tool.ErrorType = "edit_no_change"
	createOfExisting tool.ErrorType = "attempt_to_create_existing_file"
)

const editName = "edit"

var toEdit = action{"edit", editPreparation}

func editFile(f *files) tool.Tool {
	return tool.Define(tool.Def[editArgs]{
		Name: editName, DisplayName: editTitle,
		Summary:     "Replace text in a file",
		Description: strings.TrimSpace(editText), RuleNames: editNames(editName), Kind: tool.Edit,
		Aliases: []string{"replace"}, Dialect: tool.ReplaceDialect,
		Prepare: func(ctx context.Context, a editArgs) (*tool.Invocation, error) {
			edits, err := a.all()
			if err != nil {
				return nil, err
			}
			p, err := f.at(toEdit, "file_path", a.Path, ignore.File)
			inv := &tool.Invocation{Description: "edit " + p.Rel, Access: writes(p.Abs)}
			if err != nil {
				return inv, err
			}
			if edits[0].Old == "" {
				inv.Description = "create " + p.Rel
			}
			r, err := f.revise(p, edits)
			if err != nil {
				return inv, err
			}
			f.invoke(inv, r, func(shown tool.FileDiff, text string) json.RawMessage {
				var old string
				if shown.Original != nil {
					old = *shown.Original
				}
				return rework(editArgs{Path: shown.Path, Old: &old, New: &text})
			})
			return inv, nil
		},
	})
}

// invoke completes the invocation of an edit of one file. args returns the arguments that replace all of it.
func (f *files) invoke(inv *tool.Invocation, r *revision, args func(tool.FileDiff, string) json.RawMessage) {
	shown := r.fileDiff()
	inv.Confirm, inv.Replaces = shown, r.replaces()
	if !r.large() {
		inv.Rework = func(text string) json.RawMessage { return args(shown, text) }
	}
	inv.Run = func(ctx context.Context, _ *tool.Live) (tool.Result, error) {
		go r.newHash() // while the disk is written
		notes, err := f.commit(ctx, r.change)
		if err != nil {
			return tool.Result{}, err
		}
		r.record(f.seen)
		return tool.Result{Content: []tool.Part{tool.Text(r.said(notes))}, Display: shown}, nil
	}
}

// all returns the requested edits, in either form.
func (a editArgs) all() ([]edit.Edit, error) {
	if len(a.Edits) == 0 {
		var missing []tool.Violation
		if a.Old == nil {
			missing = append(missing, tool.Violation{
				Param: "old_string", Reason: "is required (a string), unless edits is given",
			})
		}
		if a.New == nil {
			missing = append(missing, tool.Violation{
				Param: "new_string", Reason: "is required (a string), unless edits is given",
			})
		}
		if len(missing) > 0 {
			return nil, &tool.ParamError{Violations: missing}
		}
		return []edit.Edit{{Old: *a.Old, New: *a.New, All: a.All}}, nil
	}
	if a.Old != nil || a.New != nil || a.All {
		return nil, tool.BadParam("edits", "replaces old_string, new_string and replace_all. Use one or the other.")
	}
	var edits []edit.Edit
	for i, e := range a.Edits {
		if e.Old == "" {
			return nil, tool.BadParam(fmt.Sprintf("edits[%d].old_string", i),
				"is empty; to make a new file give old_string and new_string without edits")
		}
		edits = append(edits, edit.Edit(e))
	}
	return edits, nil
}

// revision is a change of a file by edits.
type revision struct {
	*change
	result edit.Result
}

// revise computes the change that edits make to a file.
func (f *files) revise(p workspace.Path, edits []edit.Edit) (*revision, error) {
	o, err := f.original(toEdit, p)
	creates := edits[0].Old == ""
	switch {
	case err == nil && creates && o.exists:
		return nil, toEdit.errorf(createOfExisting, p, "it exists, and an empty old_string makes a new file; name "+
			"the text to replace%s", f.offer.hint("write_file", ", or use write_file to replace all of it"))
	case err == nil && !creates:
		err = f.checkEditable(toEdit, o)
	}
	if err != nil {
		return nil, err
	}
	edits = slices.Clone(edits)
	for i := range edits {
		if err := f.restoreAll(toEdit, o, &edits[i].Old, &edits[i].New); err != nil {
			return nil, err
		}
	}
	if creates {
		now, err := text.DecodeAs([]byte(edits[0].New), text.UTF8)
		if err != nil {
			return nil, toEdit.failure(p, err)
		}
		c, err := o.with(toEdit, now)
		return &revision{change: c}, err
	}
	result, err := edit.Apply(o.doc.Text, edits)
	if err != nil {
		return nil, f.missed(toEdit, p, err)
	}
	return o.revised(toEdit, result)
}

// checkEditable returns why an existing text can't be edited.
func (f *files) checkEditable(a action, o original) error {
	if !o.exists {
		return f.notFound(a, o.path)
	}
	if err := f.checkRead(a, o, false); err != nil {
		return err
	}
	if o.doc == nil {
		return o.binary(a)
	}
	return nil
}

// revised returns the change that found edits make.
func (o original) revised(a action, result edit.Result) (*revision, error) {
	spans := make([]text.Edit, len(result.Spans))
	for i, s := range result.Spans {
		spans[i] = text.Edit(s)
	}
	now, err := o.doc.Replace(spans...)
	if err != nil {
		return nil, unwritable(a, o.path, err)
	}
	c, err := o.with(a, now)
	return &revision{c, result}, err
}

// restoreAll puts secrets in place of their placeholders.
func (f *files) restoreAll(a action, o original, texts ...*string) (err error) {
	for _, text := range texts {
		if *text, err = f.restore(a, o, *text); err != nil {
			return err
		}
	}
	return nil
}

// missed gives a failed edit its documented type. If the model was told the same before, it gets the whole place.
func (f *files) missed(a action, p workspace.Path, err error) error {
	var ambiguous *edit.AmbiguousError
	var none *edit.NoChangeError
	var nowhere *edit.NotFoundError
	switch {
	case errors.As(err, &ambiguous):
		return a.errorf(editAmbiguous, p, "%w", err)
	case errors.As(err, &none):
		return a.errorf(editNoChange, p, "%w", err)
	case errors.As(err, &nowhere):
		key := p.Abs + "\n" + err.Error()
		if _, again := f.misses.Load(key); again && nowhere.Nearest != nil {
			err = fmt.Errorf("%w\n%s", err, nowhere.Nearest.Whole())
		}
		return missedError{a.errorf(editNotFound, p, "%w", err), func() { f.misses.Store(key, true) }}
	}
	return a.failure(p, err)
}

// missedError is an edit that wasn't found.
type missedError struct {
	error
	told func()
}

func (e missedError) Unwrap() error { return e.error }

// Told records that the model has seen the error.
func (e missedError) Told() { e.told() }

// maxReplaced is the number of parts up to which edits of one turn are compared.
const maxReplaced = 1000

// replaces returns what the edits need, and what they change.
func (r *revision) replaces() []tool.Replaced {
	var out []tool.Replaced
	path := r.was.path.Abs
	for _, s := range r.result.Spans[:min(len(r.result.Spans), maxReplaced)] {
		out = append(out, tool.Replaced{Path: path, Start: s.Start, End: s.End, Changed: true})
	}
	if len(r.result.Matches) > 1 && r.action == toEdit {
		return out // later places are in the result of earlier edits
	}
	for _, m := range r.result.Matches {
		for _, p := range m.Places[:min(len(m.Places), maxReplaced)] {
			out = append(out, tool.Replaced{Path: path, Start: p.Start, End: p.End})
		}
	}
	return out
}

// said returns the result for the model: the number of replacements, how they were found, and the changed lines.
func (r *revision) said(notes string) string {
	p := r.was.path
	if !r.was.exists {
		return fmt.Sprintf("Created new file: %s with provided content.%s\n%s", p.Abs, notes, r.diff.Snippet())
	}
	var b strings.Builder
	places := 0
	for _, m := range r.result.Matches {
		places += len(m.Places)
	}
	fmt.Fprintf(&b, "The file: %s has been updated. Replaced %s.", p.Abs, humanize.Count(places, "occurrence"))
	for i, m := range r.result.Matches {
		if m.Rung == edit.Exact {
			continue
		}
		which := "old_string"
		if r.action == toPatch {
			which = fmt.Sprintf("part %d", i+1)
		} else if len(r.result.Matches) > 1 {
			which = fmt.Sprintf("edits[%d].old_string", i)
		}
		fmt.Fprintf(&b, "\n%s was matched after ignoring %v.", which, m.Rung)
	}
	snippet := r.diff.Snippet()
	if text := r.now.Text; r.action == toEditLines && r.was.mask(text) == text {
		snippet = edit.Compare(r.was.doc.Text, text).Anchored().Snippet()
	}
	return b.String() + notes + "\n" + snippet
}

// record updates what the session has read of the file: everything known before, and the changed lines.
func (r *revision) record(seen *workspace.Seen) {
	path, lines := r.was.path.Abs, text.Lines(r.now.Text)
	defer seen.Keep(path, r.newHash(), r.now.Text)
	if !r.was.exists {
		seen.RecordWhole(path, r.newHash(), lines)
		return
	}
	seen.RecordEdit(path, r.was.hash, r.newHash(), lines, lineChanges(r.was.doc.Text, r.result.Spans)...)
}

// lineChanges returns the lines that spans touch, as runs of replaced lines.
func lineChanges(old string, spans []edit.Span) []workspace.LineChange {
	var out []workspace.LineChange
	line, at := 1, 0
	for _, s := range spans {
		line += strings.Count(old[at:s.Start], "\n")
		at = s.Start
		removed, added := strings.Count(old[s.Start:s.End], "\n")+1, strings.Count(s.New, "\n")+1
		ended := s.End > s.Start && old[s.End-1] == '\n' && (strings.HasSuffix(s.New, "\n") || s.New == "" &&
			(s.Start == 0 || old[s.Start-1] == '\n'))
		if ended { // the line after it is unchanged
			removed, added = removed-1, added-1
		}
		// on one line with the span before
		if last := len(out) - 1; last >= 0 && out[last].At+out[last].Removed > line {
			grown := line + removed - (out[last].At + out[last].Removed)
			out[last].Removed += grown
			out[last].Added += grown + added - removed
			continue
		}
		out = append(out, workspace.LineChange{At: line, Removed: removed, Added: added})
	}
	return out
}
