package builtin

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"strings"

	"github.com/adze-dev/adze/builtin/command"
	"github.com/adze-dev/adze/internal/engine/document"
	"github.com/adze-dev/adze/internal/engine/edit"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/sums"
	"github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/internal/engine/workspace"
	"github.com/adze-dev/adze/tool"
)

// maxChanged is the size of the largest file that can be changed: several copies are in memory.
const maxChanged = 64 << 20

// The documented error types of rejected changes.
const (
	requiresRead     tool.ErrorType = "edit_requires_prior_read"
	changedSinceRead                = command.ChangedSinceRead
)

// original is a file at the time when its change is prepared.
type original struct {
	path    workspace.Path
	exists  bool
	size    int64
	hash    workspace.Hash
	sums    *sums.Recent
	doc     *text.Document // nil: not text
	content []byte         // if it isn't text
	mask    func(string) string
}

// bytes returns the content. It must not be changed.
func (o original) bytes() []byte {
	if o.doc != nil {
		return o.doc.Bytes()
	}
	return o.content
}

// text returns the text; "" if it isn't one.
func (o original) text() string {
	if o.doc == nil {
		return ""
	}
	return o.doc.Text
}

// original reads the file that a call would change. A missing file is an empty text.
func (f *files) original(a action, p workspace.Path) (original, error) {
	o := original{path: p, sums: f.sums, mask: f.values.Mask().String}
	file, err := f.open(p)
	if errors.Is(err, fs.ErrNotExist) {
		o.doc, err = text.Decode(nil)
		return o, err
	}
	if err != nil {
		return o, a.failure(p, err)
	}
	defer file.Close()
	o.exists = true
	var content bytes.Buffer
	if info, err := file.Stat(); err == nil {
		if info.Size() > maxChanged {
			return o, a.errorf(fileTooLarge, p, "it has %s, and files of more than %s are not changed by this tool; "+
				"use a command such as sed",
				humanize.Bytes(info.Size()), humanize.Bytes(maxChanged))
		}
		content.Grow(int(info.Size()) + bytes.MinRead) // so that it isn't reallocated while it grows
	}
	if _, err = content.ReadFrom(io.LimitReader(file, maxChanged+1)); err != nil {
		return o, a.failure(p, err)
	}
	o.hash, o.size = f.sums.Remember(content.Bytes()), int64(content.Len())
	o.doc, err = text.Decode(content.Bytes())
	switch {
	case errors.Is(err, text.ErrBinary):
		o.content = content.Bytes()
	case err != nil:
		return o, a.failure(p, err)
	case o.size > edit.Large && int64(len(o.doc.Text)) < o.size:
		content = bytes.Buffer{}
		runtime.GC() // frees it if the document doesn't need it
	}
	return o, nil
}

// checkRead rejects a change of a file that wasn't read, without revealing anything about its content. An edit requires
// that part of the current content was read, an overwrite all of it.
func (f *files) checkRead(a action, o original, all bool) error {
	if !o.exists {
		return nil
	}
	r := f.seen.Check(o.path.Abs, o.hash)
	if r.Knowledge == workspace.Opaque {
		if err := o.binary(a); err != nil {
			return err
		}
		r.Knowledge = workspace.Unread // it wasn't text then
	}
	switch {
	case r.Knowledge == workspace.Unread && all:
		return a.errorf(requiresRead, o.path, "the file exists and hasn't been read in this session; read all of "+
			"it%s first%s",
			f.offer.hint("read_file", " with read_file"), f.offer.hint("edit", ", or change a part with edit"))
	case r.Knowledge == workspace.Unread:
		return a.errorf(requiresRead, o.path, "the file hasn't been read in this session; read it%s first (the lines "+
			"in question are enough)", f.offer.hint("read_file", " with read_file"))
	case r.Knowledge == workspace.Changed && r.Was != "" && o.doc != nil && r.Was != o.doc.Text && !all:
		// Then the model can edit the file without reading it again. An overwrite still requires that.
		told := func() {
			f.seen.Record(o.path.Abs, o.hash, text.Lines(o.doc.Text))
			f.seen.Keep(o.path.Abs, o.hash, o.doc.Text)
		}
		return toldError{a.errorf(changedSinceRead, o.path, "it changed on disk since it was read, and nothing was "+
			"written. What changed:\n%s", shownChange(o.mask(r.Was), o.mask(o.doc.Text))), told}
	case r.Knowledge == workspace.Changed:
		return a.errorf(changedSinceRead, o.path, "it changed on disk since it was read; read it again, then retry "+
			"with its current content")
	case r.Knowledge == workspace.Partly && all:
		return a.errorf(requiresRead, o.path, "lines %s of %d were not read, and an overwrite would lose them; read "+
			"them first%s%s",
			workspace.Lines(r.Missing), r.Lines, f.offer.hint("read_file", " with read_file (offset %d)",
				r.Missing[0].First-1), f.offer.hint("edit", ", or change a part with edit"))
	}
	return nil
}

const (
	maxChangeLines = 40 // of a change by another program that is shown
	maxChangeBytes = 8000
)

// shownChange returns the lines that differ, and what to do next.
func shownChange(was, now string) string {
	diff := edit.Compare(was, now).Short().Unified("", "")
	_, diff, _ = strings.Cut(diff, "@@") // without the names
	lines := strings.SplitAfter("@@"+strings.TrimSuffix(diff, "\n"), "\n")
	shown := strings.Join(lines[:min(len(lines), maxChangeLines)], "")
	if len(shown) > maxChangeBytes {
		shown = strings.ToValidUTF8(shown[:maxChangeBytes], "") + "…"
	} else if len(lines) <= maxChangeLines {
		return shown + "\nRetry with the current text. You don't have to read the file again."
	}
	return strings.TrimSuffix(shown, "\n") + "\nThe rest of the change is not shown. Retry if the text to replace " +
		"is still the same, or read the file again."
}

// binary returns an error if read_file doesn't show the file as text; otherwise nil.
func (o original) binary(a action) error {
	what := "binary data, " + humanize.Bytes(o.size)
	switch t := document.Detect(o.path.Abs, o.bytes()); t.Kind {
	case document.Text, document.SVG, document.Notebook:
		if o.doc != nil {
			return nil
		}
	default:
		what = t.Describe(o.size)
	}
	next := "only text can be edited; change it with a command"
	switch a {
	case toWrite:
		next = "only text can be overwritten; to write text in its place, delete it with a command first"
	case toEditNotebook:
		next = "only a Jupyter notebook has cells to edit; change it with a command"
	}
	return a.errorf(a.otherwise, o.path, "it is a binary file (%s), and %s", what, next)
}

// vanished returns the error for a file that has changed since the user approved the change.
func (o original) vanished(a action) error {
	what := "it changed on disk after this call was prepared"
	if !o.exists {
		what = "a file of this name appeared after this call was prepared"
	}
	return a.errorf(changedSinceRead, o.path, "%s, and nothing was written; read it again, then retry with its "+
		"current content", what)
}
