package builtin

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/adze-dev/adze/internal/engine/atomicfile"
	"github.com/adze-dev/adze/internal/engine/edit"
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
	// newHash returns the hash of the new content. It is computed once.
	newHash func() workspace.Hash
}

// with returns the change that turns the file into now.
func (o original) with(a action, now *text.Document) (*change, error) {
	old := ""
	if o.doc != nil {
		old = o.doc.Text
	}
	c := &change{action: a, was: o, now: now}
	if text := now.Text; c.large() { // only parts of it are shown, which the executor masks
		c.diff = edit.Compare(old, text)
	} else {
		c.diff = edit.Compare(o.mask(old), o.mask(text))
	}
	c.newHash = sync.OnceValue(func() workspace.Hash {
		if raw := now.Raw(); raw != nil {
			return o.sums.Remember(raw)
		}
		h := sha256.New()
		now.WriteTo(h)
		return workspace.Hash(h.Sum(nil))
	})
	return c, nil
}

// none reports whether not a byte would change.
func (c *change) none() bool {
	return c.was.exists && c.was.size == c.now.Size() && c.was.hash == c.newHash()
}

// large reports whether the contents are too large to be part of what is shown.
func (c *change) large() bool { return max(c.was.size, c.now.Size()) > edit.Large }

// fileDiff shows the whole change, including line endings. Of a large file it shows only the diff.
func (c *change) fileDiff() tool.FileDiff {
	name := filepath.Base(c.was.path.Abs)
	d := tool.FileDiff{File: name, Path: c.was.path.Abs}
	diff := c.diff
	if !c.large() {
		d.New = c.was.mask(c.now.Text)
	}
	if c.was.exists && !c.large() {
		old := ""
		if c.was.doc != nil {
			old = c.was.mask(c.was.doc.Text)
		}
		if before, after, ok := c.withLineEnds(); ok {
			old, d.New, diff = before, after, edit.Compare(before, after)
		}
		d.Original = &old
	}
	if c.large() {
		diff = diff.Short()
	}
	d.Diff = diff.Unified(name+"\tCurrent", name+"\tProposed")
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
	old, now := endsOf(c.was.doc), endsOf(c.now)
	if old == now && old != mixed || old == none || now == none && old != mixed {
		return "", "", false
	}
	return c.was.mask(withoutMark(c.was.bytes())), c.was.mask(withoutMark(c.now.Bytes())), true
}

func withoutMark(content []byte) string { return strings.TrimPrefix(string(content), "\ufeff") }

// ends is the kind of line endings of a text.
type ends int

const (
	none ends = iota
	lf
	crlf
	mixed
)

func endsOf(d *text.Document) ends {
	switch e := d.LineEnds(); {
	case e.LF > 0 && e.CRLF > 0:
		return mixed
	case e.CRLF > 0:
		return crlf
	case e.LF > 0:
		return lf
	}
	return none
}

// warnings returns changes that a user may not see in the diff.
func (c *change) warnings(diff string) []string {
	var out []string
	if c.was.doc == nil {
		out = append(out, "the file is binary; all of it is replaced")
	} else if c.was.exists && c.was.doc.Encoding != text.UTF8 {
		old, now := c.was.doc.LineEnds(), c.now.LineEnds()
		if (old.CRLF > 0) != (now.CRLF > 0) || (old.LF > 0) != (now.LF > 0) {
			out = append(out, "changes line endings")
		}
	}
	if tool.Hidden(strings.ReplaceAll(diff, "\r", "")) {
		out = append(out, "contains invisible characters (shown escaped)")
	}
	return out
}

// commit writes a change, if the file hasn't changed since the change was prepared. It returns notes on how it was
// written, as further lines.
func (f *files) commit(ctx context.Context, c *change) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	p := c.was.path
	o := atomicfile.Options{Backup: f.state, Canonical: true, Roots: f.ws.Roots(), Sums: f.sums}
	if c.was.exists {
		o.Old = &c.was.hash
	}
	f.left.writing(filepath.Dir(p.Abs))
	out, err := atomicfile.WriteFrom(p.Abs, c.now, o)
	if err != nil {
		return "", c.failed(err)
	}
	return outcomeNotes(out), nil
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
