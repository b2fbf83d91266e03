package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/atomicfile"
)

// commit writes a change, if the file is still what it was when the change was prepared. It returns what is to be said
// of how it was written, as further lines.
func (f *files) commit(ctx context.Context, c *change) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	p := c.was.path
	o := atomicfile.Options{Backup: f.state, Canonical: true}
	if c.was.exists {
		o.Old = &c.was.hash
	}
	out, err := atomicfile.Write(p.Abs, c.now.Bytes(), o)
	var changed *atomicfile.ChangedError
	switch {
	case errors.As(err, &changed) && changed.How == "is gone":
		return "", c.action.errorf(changedSinceRead, p, "it was deleted after this call was prepared; nothing was written. Check before you write it again")
	case errors.As(err, &changed):
		return "", c.was.vanished(c.action)
	case err != nil:
		if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), "write "+p.Abs+": ") {
			err = inner
		}
		return "", action{c.action.verb, fileWriteFailure}.failure(p, err)
	}
	return outcomeNotes(out), nil
}

// outcomeNotes tells what was not done in the ordinary way.
func outcomeNotes(out atomicfile.Outcome) string {
	if out.InPlace == "" {
		return ""
	}
	return fmt.Sprintf("\nThe file was written in place, because %s; its old content is kept in %s.", out.InPlace, out.Backup)
}
