package builtin

import (
	"context"

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
	before, err := f.original(c.action, p)
	if err != nil || before.exists != c.was.exists || before.hash != c.was.hash {
		return old, false, nil // the write reports it
	}
	refused := f.editor(ctx, p.Abs, c.now.Text)
	after, err := f.original(c.action, p)
	switch same := after.exists == before.exists && after.hash == before.hash; {
	case refused != nil && same:
		return nil, false, c.action.errorf(fileWriteFailure, p, "the user's editor didn't write it: %w. Nothing was "+
			"changed", refused)
	case refused != nil:
		return nil, false, c.action.errorf(fileWriteFailure, p, "the user's editor reports %w, but the file has "+
			"changed. Read it again", refused)
	case err != nil || !after.exists:
		return nil, false, err
	}
	return &after.hash, after.hash == c.newHash(), nil
}
