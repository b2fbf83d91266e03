package effects

import (
	"context"
	"path/filepath"
	"time"

	"github.com/adze-dev/adze/internal/app/hooks"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/internal/engine/lsp"
	filetext "github.com/adze-dev/adze/internal/engine/text"
	"github.com/adze-dev/adze/tool"
)

// diagnoseTime is how long a result waits for diagnostics.
const diagnoseTime = 1500 * time.Millisecond

// diagnosed tells language servers what a call read and changed, and adds new errors and warnings to the result. What
// comes later is in a later result.
func (e *Effects) diagnosed(ctx context.Context, q tool.Request, o tool.Outcome) tool.Outcome {
	servers := e.s.Tools.LanguageServers()
	if servers == nil {
		return o
	}
	changes := e.fileChanges(o.Changes)
	servers.Changed(changes)
	if e.s.Settings.LSP.Diagnostics {
		ctx, cancel := context.WithTimeout(ctx, diagnoseTime)
		defer cancel()
		if text := e.s.Tools.Diagnosed(ctx, len(changes) > 0); text != "" {
			o = hooks.Labeled(o, "diagnostics", []string{text})
		}
	}
	for _, a := range q.Access {
		if o.Status == tool.StatusSuccess && a.Verb == tool.Reads && filepath.IsAbs(a.Target) {
			servers.Touch(filepath.Clean(a.Target))
		}
	}
	return o
}

// fileChanges returns changes with the texts of files before.
func (e *Effects) fileChanges(c tool.Changes) (out []lsp.Change) {
	const most = 1000
	for _, one := range c.List {
		if one.Discarded || one.Files > 0 || one.Kind == tool.ModeChanged || len(out) >= most {
			continue
		}
		if one.From != "" {
			out = append(out, lsp.Change{Path: humanize.UnquotePath(one.From)})
		}
		change := lsp.Change{Path: humanize.UnquotePath(one.Path), Created: one.Kind == tool.Created}
		if before, _, ok := e.tracker.Texts(one); ok && before != nil {
			if d, err := filetext.Decode([]byte(*before)); err == nil {
				change.Before = &d.Text
			}
		}
		out = append(out, change)
	}
	return out
}
