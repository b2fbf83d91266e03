package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/adze-dev/adze/internal/app/tui"
	"github.com/adze-dev/adze/internal/engine/humanize"
	"github.com/adze-dev/adze/tool"
)

// ended notes that a call or a prompt has ended: the branch and the status line may be other ones now.
func (h *screenHost) ended(c tool.Changes) {
	h.branch.changed()
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
	in, err := humanize.JSON(h.statusInput(mode, lines))
	if err != nil {
		return nil
	}
	return &tui.StatusLine{
		State: fmt.Sprintf("%d %s", done, in), Colors: set.Colors, HideContext: set.HideContext,
		Run: func(ctx context.Context) (string, error) { return h.session.StatusLine(ctx, json.RawMessage(in)) },
	}
}

type object = map[string]any

// statusInput is what the command of ui.statusLine gets, in Qwen Code's format.
func (h *screenHost) statusInput(mode string, lines tool.LineCount) object {
	s := h.session
	name := s.Models.Name()
	tokens, window := 0, s.Models.ContextWindow(name)
	if talk := h.current(); talk != nil {
		tokens, window = talk.Context()
	}
	used := math.Round(1000*min(1, float64(tokens)/float64(max(1, window)))) / 10
	read, written, models := 0, 0, object{}
	for _, one := range s.Models.Spent() {
		u := one.Usage
		read, written = read+u.Input, written+u.Output
		models[one.Model] = object{"api": object{"total_requests": one.Requests}, "tokens": object{
			"prompt": u.Input, "completion": u.Output, "total": u.Input + u.Output, "cached": u.CacheRead,
			"thoughts": u.Reasoning,
		}}
	}
	in := object{
		"session_id": s.ID, "version": s.Env.Version, "model": object{"display_name": name},
		"context_window": object{
			"context_window_size": window, "current_usage": tokens, "used_percentage": used,
			"remaining_percentage": math.Round(1000-10*used) / 10, "total_input_tokens": read,
			"total_output_tokens": written,
		},
		"workspace": object{"current_dir": s.Directory.Path},
		"metrics": object{
			"models": models, "files": object{"total_lines_added": lines.Added, "total_lines_removed": lines.Removed},
		},
	}
	if branch := h.branch.name(s.Directory.Path); branch != "" {
		in["git"] = object{"branch": branch}
	}
	if mode != "" {
		in["vim"] = object{"mode": mode}
	}
	return in
}
