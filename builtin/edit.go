package builtin

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/humanize"
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
			verb := "edit"
			if edits[0].Old == "" {
				verb = "create"
			}
			return f.prepareChange(toEdit, verb, a.Path, func(p workspace.Path) (*change, error) {
				return f.replaced(p, edits)
			}, func(_ []*change, files []tool.FileDiff, texts []*string) any {
				return editArgs{Path: files[0].Path, Old: cmp.Or(files[0].Original, new(string)), New: texts[0]}
			})
		},
	})
}

// all returns the requested edits, in either form.
func (a editArgs) all() ([]edit.Edit, error) {
	if len(a.Edits) == 0 {
		var missing []tool.Violation
		for i, given := range []*string{a.Old, a.New} {
			if given == nil {
				missing = append(missing, tool.Violation{
					Param:  []string{"old_string", "new_string"}[i],
					Reason: "is required (a string), unless edits is given",
				})
			}
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

// replaced returns the change that replacements make, or a new file.
func (f *files) replaced(p workspace.Path, edits []edit.Edit) (*change, error) {
	if edits[0].Old == "" {
		o, err := f.fresh(toEdit, p, ", and an empty old_string makes a new file; name the text to replace"+
			f.offer.hint("write_file", ", or use write_file to replace all of it"))
		if err != nil {
			return nil, err
		}
		return f.withContent(toEdit, o, edits[0].New)
	}
	var texts []*string
	for i := range edits {
		texts = append(texts, &edits[i].Old, &edits[i].New)
	}
	return f.revise(toEdit, p, texts, func(o original) (edit.Result, error) {
		return edit.Apply(o.doc.Text, edits)
	})
}

// fresh returns a file that doesn't exist yet. The error for an existing one says what to do instead.
func (f *files) fresh(a action, p workspace.Path, instead string) (original, error) {
	o, err := f.original(a, p)
	if err == nil && o.exists {
		err = a.errorf(createOfExisting, p, "it exists%s", instead)
	}
	return o, err
}

// revise returns the change that the edits of a dialect make to a file. In their texts, secrets are put in place of
// placeholders before it finds the places of the edits. If another program changed the file, anchors that are stale
// after that are named with the change.
func (f *files) revise(a action, p workspace.Path, texts []*string, find func(original) (edit.Result, error)) (
	*change, error) {
	o, err := f.original(a, p)
	if err == nil {
		err = f.checkEditable(a, o)
	}
	var changed toldError
	if errors.As(err, &changed) && a == toEditLines {
		if _, stale := find(o); stale != nil {
			changed.error = fmt.Errorf("%w\n%w", err, f.missed(a, o, stale))
			return nil, changed
		}
	}
	for i := 0; err == nil && i < len(texts); i++ {
		*texts[i], err = f.restore(a, o, *texts[i])
	}
	if err != nil {
		return nil, err
	}
	result, err := find(o)
	if err != nil {
		return nil, f.missed(a, o, err)
	}
	return o.revised(a, result)
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
func (o original) revised(a action, result edit.Result) (*change, error) {
	now, err := o.doc.Replace(result.Spans...)
	if err != nil {
		return nil, a.failure(o.path, err)
	}
	c := o.with(a, now)
	c.found = result
	return c, nil
}

// missed gives a failed edit its documented type. If the model was told the same before, it gets the whole place.
func (f *files) missed(a action, o original, err error) error {
	var ambiguous *edit.AmbiguousError
	var none *edit.NoChangeError
	var nowhere *edit.NotFoundError
	var stale *edit.StaleError
	switch {
	case errors.As(err, &ambiguous) && a == toEdit && ambiguous.Rung <= edit.LineEndings:
		return a.errorf(editAmbiguous, o.path, "%w\nTo change all of them, set replace_all", err)
	case errors.As(err, &ambiguous):
		return a.errorf(editAmbiguous, o.path, "%w", err)
	case errors.As(err, &none):
		return a.errorf(editNoChange, o.path, "%w", err)
	case errors.As(err, &stale):
		return a.errorf(editNotFound, o.path, "%w. Nothing was changed. The lines and their anchors now:%s", err,
			stale.Around(o.doc.Text, o.mask(o.doc.Text)))
	case errors.As(err, &nowhere):
		key := o.path.Abs + "\n" + err.Error()
		if _, again := f.misses.Load(key); again && nowhere.Nearest != nil {
			err = fmt.Errorf("%w\n%s", err, nowhere.Nearest.Whole())
		}
		return toldError{a.errorf(editNotFound, o.path, "%w", err), func() { f.misses.Store(key, true) }}
	}
	return a.failure(o.path, err)
}

// toldError is an error after which the session knows more about what the model has seen.
type toldError struct {
	error
	told func()
}

func (e toldError) Unwrap() error { return e.error }

// Told records that the model has seen the error.
func (e toldError) Told() { e.told() }

// maxReplaced is the number of parts up to which edits of one turn are compared.
const maxReplaced = 1000

// replaces returns what the edits need, and what they change.
func (c *change) replaces() []tool.Replaced {
	var out []tool.Replaced
	path, spans := c.was.path.Abs, c.found.Spans
	for _, s := range spans[:min(len(spans), maxReplaced)] {
		out = append(out, tool.Replaced{Path: path, Start: s.Start, End: s.End, Changed: true})
	}
	if len(c.found.Matches) > 1 && c.action == toEdit {
		return out // later places are in the result of earlier edits
	}
	for _, m := range c.found.Matches {
		for _, p := range m.Places[:min(len(m.Places), maxReplaced)] {
			out = append(out, tool.Replaced{Path: path, Start: p.Start, End: p.End})
		}
	}
	return out
}

// said records what the session has read of changed files, and returns the result for the model.
func (f *files) said(list []*change, notes []string, dialect tool.Dialect) string {
	var out []string
	for i, c := range list {
		c.record(f.seen)
		if dialect == tool.AnchorDialect && len(c.found.Spans) > 0 {
			f.keepEarlier(c)
		}
		out = append(out, c.said(notes[i], dialect))
	}
	return strings.Join(out, "\n")
}

// said returns the number of replacements, how they were found, and the changed lines.
func (c *change) said(notes string, dialect tool.Dialect) string {
	p, anchored := c.was.path, ""
	if dialect == tool.AnchorDialect {
		anchored = c.now.Text
	}
	switch {
	case c.deletes:
		return fmt.Sprintf("Deleted file: %s.", p.Abs)
	case c.action == toWrite && c.was.exists:
		return fmt.Sprintf("Successfully overwrote file: %s.%s", p.Abs, notes)
	case c.action == toWrite:
		return fmt.Sprintf("Successfully created and wrote to new file: %s.%s", p.Abs, notes)
	case !c.was.exists:
		return fmt.Sprintf("Created new file: %s with provided content.%s\n%s", p.Abs, notes, c.diff.Snippet(anchored))
	}
	var b strings.Builder
	places := 0
	for i, m := range c.found.Matches {
		places += len(m.Places)
		which := "old_string"
		if c.action == toPatch {
			which = fmt.Sprintf("part %d", i+1)
		} else if len(c.found.Matches) > 1 {
			which = fmt.Sprintf("edits[%d].old_string", i)
		}
		if m.Rung > edit.Exact {
			fmt.Fprintf(&b, "\n%s was matched after ignoring %v.", which, m.Rung)
		}
	}
	return fmt.Sprintf("The file: %s has been updated. Replaced %s.%s%s\n%s", p.Abs,
		humanize.Count(places, "occurrence"), b.String(), notes, c.diff.Snippet(anchored))
}

// record updates what the session has read of the file: everything known before, and the changed lines.
func (c *change) record(seen *workspace.Seen) {
	path, lines := c.was.path.Abs, text.Lines(c.now.Text)
	switch {
	case c.deletes:
		seen.Forget(path)
		return
	case len(c.found.Matches) == 0:
		seen.RecordWhole(path, c.newHash(), lines)
	default:
		seen.RecordEdit(path, c.was.hash, c.newHash(), lines, lineChanges(c.was.doc.Text, c.found.Spans)...)
	}
	seen.Keep(path, c.newHash(), c.now.Text)
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
