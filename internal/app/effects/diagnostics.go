package effects

import (
	"context"
	"path/filepath"
	"time"

	"github.com/adze-dev/adze/builtin"
	"github.com/adze-dev/adze/internal/app/hooks"
	"github.com/adze-dev/adze/internal/engine/humanize"
	filetext "github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/tool"
)

// diagnoseTime is how long a result waits for diagnostics.
const diagnoseTime = 1500 * time.Millisecond

// diagnosed tells language servers what a call read and changed, and adds new errors and warnings to the result. It
// waits only if a server was ready before the call; what comes later is in a later result.
func (e *Effects) diagnosed(ctx context.Context, q tool.Request, o tool.Outcome, ready bool) tool.Outcome {
	if !e.s.Tools.HasServers() {
		return o
	}
	if o.Status == tool.StatusSuccess {
		for _, a := range q.Access {
			if a.Verb == tool.Reads && filepath.IsAbs(a.Target) && a.Target == filepath.Clean(a.Target) {
				e.s.Tools.FileRead(a.Target)
			}
		}
	}
	changes := e.fileChanges(o.Changes)
	e.s.Tools.FilesChanged(changes)
	if !e.s.Settings.LSP.Diagnostics {
		return o
	}
	wait := time.Duration(0)
	if ready && len(changes) > 0 {
		wait = diagnoseTime
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if text := e.s.Tools.Diagnosed(ctx); text != "" {
		o = hooks.Labeled(o, "diagnostics", []string{text})
	}
	return o
}

// maxFileChanges is how many changed files language servers learn about after a call.
const maxFileChanges = 1000

// fileChanges returns changes with the texts of files before.
func (e *Effects) fileChanges(c tool.Changes) (out []builtin.FileChange) {
	for _, one := range c.List {
		if one.Discarded || one.Files > 0 || one.Kind == tool.ModeChanged || len(out) >= maxFileChanges {
			continue
		}
		if one.From != "" {
			out = append(out, builtin.FileChange{Path: humanize.UnquotePath(one.From)})
		}
		change := builtin.FileChange{Path: humanize.UnquotePath(one.Path), Created: one.Kind == tool.Created}
		if before, _, ok := e.tracker.Texts(one); ok && before != nil {
			if d, err := filetext.Decode([]byte(*before)); err == nil {
				change.Before = &d.Text
			}
		}
		out = append(out, change)
	}
	return out
}
