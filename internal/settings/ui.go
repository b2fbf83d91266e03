package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// UI is how the terminal looks.
type UI struct {
	ScreenReader bool              // labelled lines instead of a screen that is redrawn
	Keys         map[string]string // keys by action
}

// uiKeys are settings about the user's terminal. A project can't change them.
func uiKeys() []key {
	return []key{
		{
			name: "ui.accessibility.screenReader", preset: "false", shape: booleanShape, own: true,
			about: "Hold conversations in labelled lines that are never redrawn, with numbers as answers.",
			put:   boolean(func(s *Settings) *bool { return &s.UI.ScreenReader }),
		},
		{
			name: "ui.keys", shape: `{"type":"object","additionalProperties":{"type":"string"}}`, own: true, adds: true,
			about: "Keys of the terminal by action, such as {\"undo\": \"alt+u\"}; several are separated by spaces. /keys lists the actions.",
			put:   putKeys,
		},
	}
}

// putKeys takes keys by action. What is wrong with them is a note: a conversation works with the usual keys.
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
