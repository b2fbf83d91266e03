package builtin

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/atomicfile"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/ignore"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

// change is the change of a file by a call.
type change struct {
	action action
	was    original
	now    *text.Document
	diff   edit.Comparison // of the content as the model sees it, without secrets
	found  edit.Result     // the replacements; empty: all of the content is new
	// newHash returns the hash of the new content. It is computed once.
	newHash func() workspace.Hash

	line    int         // of the patch that it is from
	deletes bool        // the file, and now is empty
	moved   bool        // it is deleted because another change makes it under another name
	mode    fs.FileMode // of a new file; 0: as usual
}

// with returns the change that turns the file into now.
func (o original) with(a action, now *text.Document) *change {
	c := &change{action: a, was: o, now: now}
	if c.large() { // only parts of it are shown, which the executor masks
		c.diff = edit.Compare(o.text(), now.Text)
	} else {
		c.diff = edit.Compare(o.mask(o.text()), o.mask(now.Text))
	}
	c.newHash = sync.OnceValue(func() workspace.Hash {
		if raw := now.Raw(); raw != nil {
			return o.sums.Remember(raw)
		}
		h := sha256.New()
		now.WriteTo(h)
		return workspace.Hash(h.Sum(nil))
	})
	return c
}

// withContent returns the change that gives the file another content: like the old text, or in UTF-8.
func (f *files) withContent(a action, o original, content string) (*change, error) {
	content, err := f.restore(a, o, content)
	if err != nil {
		return nil, err
	}
	var now *text.Document
	if o.doc == nil || !o.exists {
		now, err = text.DecodeAs([]byte(content), text.UTF8)
	} else if n, line := omission(o.path.Abs, o.doc.Text, content); n > 0 {
		return nil, a.errorf(incompleteContent, o.path, "line %d (%s) stands for omitted text, and nothing was "+
			"written. Give the whole content%s", n, line, f.offer.hint("edit", ", or change a part with edit"))
	} else {
		now, err = o.doc.Rewrite(content)
	}
	if err != nil {
		return nil, a.failure(o.path, err)
	}
	return o.with(a, now), nil
}

// none reports whether not a byte would change.
func (c *change) none() bool {
	return c.was.exists && c.was.size == c.now.Size() && c.was.hash == c.newHash()
}

// large reports whether the contents are too large to be part of what is shown.
func (c *change) large() bool { return max(c.was.size, c.now.Size()) > edit.Large }

// fileDiff shows the whole change, including line endings. Of a large file it shows only the diff.
func (c *change) fileDiff(name string) tool.FileDiff {
	d := tool.FileDiff{File: name, Path: c.was.path.Abs}
	diff, proposed := c.diff, name+"\tProposed"
	if c.large() {
		diff = diff.Short()
	} else {
		d.New = c.was.mask(c.now.Text)
	}
	if c.was.exists && !c.large() {
		old := c.was.mask(c.was.text())
		if before, after, ok := c.withLineEnds(); ok {
			old, d.New, diff = before, after, edit.Compare(before, after)
		}
		d.Original = &old
	}
	if c.deletes {
		proposed = "/dev/null"
	}
	d.Diff = diff.Unified(name+"\tCurrent", proposed)
	s := diff.Stat()
	d.Stat = &tool.DiffStat{
		ModelAddedLines: s.AddedLines, ModelRemovedLines: s.RemovedLines,
		ModelAddedChars: s.AddedChars, ModelRemovedChars: s.RemovedChars,
	}
	d.Warnings = c.warnings(d.Diff)
	return d
}

// withLineEnds returns both texts with their line endings as on disk, unless all are the same in both.
func (c *change) withLineEnds() (before, after string, ok bool) {
	if c.was.doc == nil || c.was.doc.Encoding != text.UTF8 {
		return "", "", false
	}
	old, now, mixed := endsOf(c.was.doc), endsOf(c.now), ends{true, true}
	if old != mixed && (old == now || old == ends{} || now == ends{}) {
		return "", "", false
	}
	return c.was.mask(withoutMark(c.was.bytes())), c.was.mask(withoutMark(c.now.Bytes())), true
}

func withoutMark(content []byte) string { return strings.TrimPrefix(string(content), "\ufeff") }

// ends is the line endings that a text has.
type ends struct{ lf, crlf bool }

func endsOf(d *text.Document) ends {
	e := d.LineEnds()
	return ends{e.LF > 0, e.CRLF > 0}
}

// warnings returns changes that a user may not see in the diff.
func (c *change) warnings(diff string) []string {
	var out []string
	if c.was.doc == nil {
		out = append(out, "the file is binary; all of it is replaced")
	} else if c.was.exists && c.was.doc.Encoding != text.UTF8 && endsOf(c.was.doc) != endsOf(c.now) {
		out = append(out, "changes line endings")
	}
	if tool.Hidden(strings.ReplaceAll(diff, "\r", "")) {
		out = append(out, "contains invisible characters (shown escaped)")
	}
	return out
}

// prepareChange prepares a call that changes one file as plan returns.
func (f *files) prepareChange(a action, verb, name string, plan func(workspace.Path) (*change, error),
	whole reworking) (*tool.Invocation, error) {
	p, err := f.at(a, "file_path", name, ignore.File)
	inv := &tool.Invocation{Description: verb + " " + p.Rel, Access: writes(p.Abs)}
	if err != nil {
		return inv, err
	}
	c, err := plan(p)
	if err != nil {
		return inv, err
	}
	// A denial must not tell that the content of a secret file is known.
	if len(c.found.Spans) == 0 && c.none() && !f.secrets.is(p) {
		return f.unchanged(c), nil
	}
	f.invoke(inv, []*change{c}, f.said, whole)
	return inv, nil
}

// saying records what was changed, and returns the result for a model of a dialect. Notes are on how each file was
// written.
type saying func(list []*change, notes []string, dialect tool.Dialect) string

// reworking returns the arguments of a call with other texts, one for each changed file.
type reworking func(list []*change, files []tool.FileDiff, texts []*string) any

// invoke completes the invocation of a call that makes changes. whole may be nil.
func (f *files) invoke(inv *tool.Invocation, list []*change, said saying, whole reworking) {
	shown := fileDiff(list)
	inv.Confirm = shown
	for _, c := range list {
		inv.Replaces = append(inv.Replaces, c.replaces()...)
	}
	if whole != nil && !slices.ContainsFunc(list, (*change).large) {
		files := shown.Files
		if files == nil {
			files = []tool.FileDiff{shown}
		}
		inv.Rework = func(texts ...*string) json.RawMessage { return rework(whole(list, files, texts)) }
	}
	inv.Run = func(ctx context.Context, l *tool.Live) (tool.Result, error) {
		for _, c := range list {
			go c.newHash() // while the disk is written
		}
		notes, err := f.commit(ctx, list...)
		if err != nil {
			return tool.Result{}, err
		}
		dialect := tool.ReplaceDialect
		if l != nil { // as in a program that runs an invocation itself
			dialect = l.Call.Dialect
		}
		return tool.Result{Content: []tool.Part{tool.Text(said(list, notes, dialect))}, Display: shown}, nil
	}
}

// fileDiff shows all changes of a call as one diff.
func fileDiff(list []*change) tool.FileDiff {
	if len(list) == 1 && !list[0].deletes {
		return list[0].fileDiff(filepath.Base(list[0].was.path.Abs))
	}
	all := tool.FileDiff{Stat: &tool.DiffStat{}}
	for _, c := range list {
		at := c.was.path.Rel
		d := c.fileDiff(at)
		all.Diff += d.Diff
		if c.moved { // the file before it comes from here
			to := &all.Files[len(all.Files)-1]
			to.File, to.Original = at+" → "+to.File, d.Original
			to.Diff += d.Diff
		} else {
			all.Files = append(all.Files, d)
		}
		all.Stat.ModelAddedLines += d.Stat.ModelAddedLines
		all.Stat.ModelRemovedLines += d.Stat.ModelRemovedLines
		all.Stat.ModelAddedChars += d.Stat.ModelAddedChars
		all.Stat.ModelRemovedChars += d.Stat.ModelRemovedChars
		for _, w := range d.Warnings {
			all.Warnings = append(all.Warnings, at+": "+w)
		}
		if c.deletes && !c.moved {
			all.Warnings = append(all.Warnings, "deletes "+at)
		}
	}
	all.File = humanize.Count(len(all.Files), "file")
	return all
}

// commit makes all changes or none, if no file has changed since they were prepared. It returns notes on how each was
// written, as further lines.
func (f *files) commit(ctx context.Context, list ...*change) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	steps := make([]atomicfile.Step, len(list))
	for i, c := range list {
		o := atomicfile.Options{Backup: f.state, Canonical: true, Roots: f.ws.Roots(), Sums: f.sums, Mode: c.mode}
		if c.was.exists {
			o.Old = &c.was.hash
		}
		if len(list) == 1 {
			old, written, err := f.throughEditor(ctx, c)
			if err != nil || written {
				return []string{""}, err
			}
			o.Old = old
		}
		steps[i] = atomicfile.Step{Path: c.was.path.Abs, Options: o}
		if !c.deletes {
			steps[i].Content = c.now
		}
		f.left.writing(filepath.Dir(c.was.path.Abs))
	}
	dir := ""
	if len(list) > 1 {
		dir = f.left.batch(f.state)
	}
	out, err := atomicfile.All(dir, steps)
	var failed *atomicfile.StepError
	if errors.As(err, &failed) {
		c := list[failed.Index]
		return nil, atLine(c.line, c.failed(failed.Err))
	}
	if err != nil {
		return nil, tool.Errorf(fileWriteFailure, "%s: %w. Nothing was changed", list[0].action.verb, err)
	}
	var notes []string
	for _, o := range out {
		notes = append(notes, outcomeNotes(o))
	}
	return notes, nil
}

// failed returns the error of a write for the model.
func (c *change) failed(err error) error {
	p := c.was.path
	var changed *atomicfile.ChangedError
	switch {
	case errors.As(err, &changed) && changed.How == "is gone":
		return c.action.errorf(changedSinceRead, p, "it was deleted after this call was prepared; nothing was "+
			"written. Check before you write it again")
	case errors.As(err, &changed):
		return c.was.vanished(c.action)
	}
	if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), "write "+p.Abs+": ") {
		err = inner
	}
	return action{c.action.verb, fileWriteFailure}.failure(p, err)
}

// outcomeNotes describes what was unusual about a write.
func outcomeNotes(out atomicfile.Outcome) string {
	if out.Split {
		return "\nThe file was replaced, because it has hard links outside the workspace; those keep the old content."
	}
	if out.InPlace == "" {
		return ""
	}
	return fmt.Sprintf("\nThe file was written in place, because %s; its old content is kept in %s.", out.InPlace,
		out.Backup)
}
