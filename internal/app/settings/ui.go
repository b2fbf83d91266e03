package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// UI are the settings of the terminal.
type UI struct {
	ScreenReader bool              // labeled lines instead of a screen that is redrawn
	Keys         map[string]string // keys by action
	Theme        string            // auto, dark, light or high-contrast
	// Notifications is how to notify a user whose window isn't focused: auto, bell or off.
	Notifications string
	HideTitle     bool // don't set the title of the terminal's window
	OutputLines   int  // of a command, that stay visible
	StatusLine    StatusLine
}

// StatusLine is a command that prints the status line.
type StatusLine struct {
	Command     string // "": none
	Colors      bool   // of its output are shown
	HideContext bool   // its output shows how much of the context is used
}

// Themes returns the values of ui.theme. Package tui has the colors of each.
func Themes() []string { return []string{"auto", "dark", "light", "high-contrast"} }

// notifications returns the values of ui.notifications.
func notifications() []string { return []string{"auto", "bell", "off"} }

// uiKeys returns settings about the user's terminal. A project can't change them, except, if it is trusted, the status
// line.
func uiKeys() []key {
	return []key{
		{
			name: "ui.accessibility.screenReader", preset: "false", shape: booleanShape, own: true,
			about: "Plain labeled output for screen readers, with numbers as answers.",
			put:   boolean(func(s *Settings) *bool { return &s.UI.ScreenReader }),
		},
		{
			name: "ui.keys", shape: `{"type":"object","additionalProperties":{"type":"string"}}`, own: true, adds: true,
			about: "Keys of the terminal by action, such as {\"undo\": \"alt+u\"}; several are separated by spaces. " +
				"/keys lists the actions.",
			put: putKeys,
		},
		{
			name: "ui.theme", shape: enumShape(Themes()), own: true, preset: `"auto"`,
			about: "Colors of the terminal: auto (by its background), dark, light or high-contrast.",
			put:   oneOf(Themes(), func(s *Settings) *string { return &s.UI.Theme }),
		},
		{
			name: "ui.notifications", shape: enumShape(notifications()), own: true, preset: `"auto"`,
			about: "How Adze notifies you when it waits for you and its window isn't focused: auto (bell and desktop " +
				"notification), bell or off.",
			put: oneOf(notifications(), func(s *Settings) *string { return &s.UI.Notifications }),
		},
		{
			name: "ui.hideWindowTitle", shape: booleanShape, own: true, preset: "false",
			about: "Don't set the window title.",
			put:   boolean(func(s *Settings) *bool { return &s.UI.HideTitle }),
		},
		{
			name: "ui.shellOutputMaxLines", shape: integerShape, own: true, preset: "5",
			about: "Lines of a command's output to show when it has finished; at least 12 if it failed. 0 for none.",
			put:   integer(func(s *Settings) *int { return &s.UI.OutputLines }),
		},
		{
			name: "ui.statusLine", put: putStatusLine,
			shape: `{"type":["object","null"],"properties":{"type":{"const":"command"},"command":{"type":"string"},` +
				`"respectUserColors":{"type":"boolean"},"hideContextIndicator":{"type":"boolean"}}}`,
			about: "Command that prints the status line: {\"type\": \"command\", \"command\": \"…\"}. See terminal.md.",
		},
	}
}

// putStatusLine reads the status line. Others than commands are notes: the line of the terminal itself remains.
func putStatusLine(s *Settings, g given) (note string, err error) {
	var said *struct {
		Type        string
		Command     string
		Refresh     any  `json:"refreshInterval"`
		Colors      bool `json:"respectUserColors"`
		HideContext bool `json:"hideContextIndicator"`
	}
	s.UI.StatusLine = StatusLine{}
	wrong := json.Unmarshal(g.json(), &said) != nil
	switch {
	case !wrong && said == nil || g.qwen && said != nil && said.Type == "preset":
		return "", nil
	case wrong || said.Type != "command" || strings.TrimSpace(said.Command) == "":
		return `must be {"type": "command", "command": "…"}, ignored`, nil
	case said.Refresh != nil:
		note = "refreshInterval is ignored: the command runs after changes only"
	}
	s.UI.StatusLine = StatusLine{Command: said.Command, Colors: said.Colors, HideContext: said.HideContext}
	return note, nil
}

// oneOf reads one of some names. For others the first applies, with a note: the look of the terminal shouldn't stop a
// conversation. The themes of Qwen Code have names such as "Qwen Light".
func oneOf(names []string, at func(*Settings) *string) func(*Settings, given) (string, error) {
	return func(s *Settings, g given) (note string, err error) {
		var said string
		if json.Unmarshal(g.json(), &said) != nil {
			said = string(g.json())
		}
		*at(s) = names[0]
		for _, name := range names {
			switch {
			case said == name:
				*at(s) = name
				return "", nil
			case g.qwen && strings.Contains(strings.ToLower(said), name):
				*at(s) = name
			}
		}
		if g.qwen {
			return "", nil
		}
		return fmt.Sprintf("has the invalid value %s; using %s (expected one of: %s)", strconv.Quote(said), names[0],
			strings.Join(names, ", ")), nil
	}
}

// putKeys reads keys by action. Invalid ones are notes: a conversation works with the default keys.
func putKeys(s *Settings, g given) (note string, err error) {
	var said map[string]json.RawMessage
	if json.Unmarshal(g.json(), &said) != nil {
		return mustBe("an object of keys by action", g).Error() + ", ignored", nil
	}
	all := maps.Clone(s.UI.Keys)
	if all == nil {
		all = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		var keys string
		if json.Unmarshal(said[name], &keys) != nil {
			note = fmt.Sprintf("has a value that is not a string: %q, ignored", name)
			continue
		}
		all[name] = keys
	}
	s.UI.Keys = all
	return note, nil
}
