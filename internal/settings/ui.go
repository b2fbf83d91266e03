package settings

// UI is how the terminal looks.
type UI struct {
	ScreenReader bool // labelled lines instead of a screen that is redrawn
}

func uiKeys() []key {
	return []key{{
		name: "ui.accessibility.screenReader", preset: "false", shape: booleanShape, own: true,
		about: "Hold conversations in labelled lines that are never redrawn, with numbers as answers.",
		put:   boolean(func(s *Settings) *bool { return &s.UI.ScreenReader }),
	}}
}
