package session

// Action is what a command does in the front end instead of printing something.
type Action string

// Actions. A front end says which of them it has: see [Session.Supports].
const (
	ListKeys Action = "keys"  // list the keys of the terminal
	SetTheme Action = "theme" // show or set the theme; its name is in Expansion.Words
)

// Supports says which actions the front end has. Commands with others are not listed.
func (s *Session) Supports(actions ...Action) { s.actions = actions }
