package builtin

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"

	"github.com/adze-dev/adze/internal/engine/workspace"
)

// throughEditor has the user's editor write a changed file. What it leaves on disk is compared with the new content:
// written means that nothing is left to do, and old is the content that is to be replaced otherwise, because editors
// don't keep all bytes. Of a file that has changed since the call was prepared, it writes nothing.
func (f *files) throughEditor(ctx context.Context, c *change) (old *workspace.Hash, written bool, err error) {
	if c.was.exists {
		old = &c.was.hash
	}
	if f.editor == nil || c.deletes || c.now.Text == "" {
		return old, false, nil
	}
	p := c.was.path
	before, err := f.onDisk(p)
	if err != nil || (before == nil) != (old == nil) || old != nil && *before != *old {
		return old, false, nil // the write reports it
	}
	refused := f.editor(ctx, p.Abs, c.now.Text)
	after, err := f.onDisk(p)
	switch same := (after == nil) == (before == nil) && (after == nil || *after == *before); {
	case refused != nil && same:
		return nil, false, c.action.errorf(fileWriteFailure, p, "the user's editor didn't write it: %w. Nothing was "+
			"changed", refused)
	case refused != nil:
		return nil, false, c.action.errorf(fileWriteFailure, p, "the user's editor reports %w, but the file has "+
			"changed. Read it again", refused)
	case err != nil:
		return nil, false, c.action.failure(p, err)
	}
	return after, after != nil && *after == c.newHash(), nil
}

// onDisk returns the hash of a file, or nil without the file.
func (f *files) onDisk(p workspace.Path) (*workspace.Hash, error) {
	file, err := f.open(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return nil, err
	}
	sum := workspace.Hash(h.Sum(nil))
	return &sum, nil
}
