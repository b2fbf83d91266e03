package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/adze-dev/adze/internal/app/statusline"
	"github.com/adze-dev/adze/internal/app/tui"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// ended notes that a call or a prompt has ended: the branch and the status line may be other ones now.
func (h *screenHost) ended(c tool.Changes) {
	h.branch.Changed()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done++
	for _, one := range c.List {
		if one.Lines != nil && !one.Discarded {
			h.lines.Added, h.lines.Removed = h.lines.Added+one.Lines.Added, h.lines.Removed+one.Lines.Removed
		}
	}
}

// StatusLine is the command of ui.statusLine, with the current state as its input. It runs again if the state changed,
// or a call or a prompt ended.
func (h *screenHost) StatusLine(mode string) *tui.StatusLine {
	set := h.session.Settings.UI.StatusLine
	if set.Command == "" {
		return nil
	}
	h.mu.Lock()
	done, lines := h.done, h.lines
	h.mu.Unlock()
	state := statusline.State{Lines: lines, Branch: h.branch.Name(h.session.Directory.Path), Vim: mode}
	if talk := h.current(); talk != nil {
		state.Tokens, state.Window = talk.Context()
	}
	in, err := humanize.JSON(statusline.Input(h.session, state))
	if err != nil {
		return nil
	}
	return &tui.StatusLine{
		State: fmt.Sprintf("%d %s", done, in), Colors: set.Colors, HideContext: set.HideContext,
		Run: func(ctx context.Context) (string, error) { return h.session.StatusLine(ctx, json.RawMessage(in)) },
	}
}
