package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adze-dev/adze/internal/session"
	"github.com/adze-dev/adze/internal/settings"
	"github.com/adze-dev/adze/internal/tui"
)

// setTheme shows the theme, or sets and saves it.
func (h *screenHost) setTheme(name string) (tui.Reply, error) {
	if name == "" {
		return tui.Reply{Text: fmt.Sprintf("Theme: %s. Others: /theme %s.", h.session.Settings.UI.Theme, strings.Join(tui.Themes(), ", "))}, nil
	}
	if !tui.IsTheme(name) {
		return tui.Reply{}, errors.New(tui.UnknownTheme(name))
	}
	value, err := json.Marshal(name)
	if err != nil {
		return tui.Reply{}, err
	}
	h.session.Settings.UI.Theme = name // only this goroutine uses it: prompts run one after the other
	path, err := h.session.Folder.Change(session.ForUser, func(path string, text []byte) ([]byte, error) {
		return settings.SetKey(path, text, "ui.theme", value)
	})
	if err != nil {
		return tui.Reply{Theme: name}, fmt.Errorf("the theme applies to this session, but can't be saved: %w", err)
	}
	return tui.Reply{Theme: name, Text: fmt.Sprintf("Theme: %s. Saved to %s.", name, homeRelative(path, h.env.Home))}, nil
}
