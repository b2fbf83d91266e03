// Package statusline has what the command of ui.statusLine gets, in Qwen Code's format.
package statusline

import (
	"cmp"
	"math"

	"github.com/adze-dev/adze/internal/app/session"
	"github.com/adze-dev/adze/tool"
)

type object = map[string]any

// State is what a front end knows.
type State struct {
	Tokens, Window int // the context; the window is that of the model if it is 0
	Lines          tool.LineCount
	Branch         string // of git
	Vim            string // the mode of vim's keys
}

// Input is what the command gets.
func Input(s *session.Session, state State) map[string]any {
	name := s.Models.Name()
	window := cmp.Or(state.Window, s.Models.ContextWindow(name))
	used := math.Round(1000*min(1, float64(state.Tokens)/float64(max(1, window)))) / 10
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
			"context_window_size": window, "current_usage": state.Tokens, "used_percentage": used,
			"remaining_percentage": math.Round(1000-10*used) / 10, "total_input_tokens": read,
			"total_output_tokens": written,
		},
		"workspace": object{"current_dir": s.Directory.Path},
		"metrics": object{
			"models": models, "files": object{
				"total_lines_added": state.Lines.Added, "total_lines_removed": state.Lines.Removed,
			},
		},
	}
	if state.Branch != "" {
		in["git"] = object{"branch": state.Branch}
	}
	if state.Vim != "" {
		in["vim"] = object{"mode": state.Vim}
	}
	return in
}
