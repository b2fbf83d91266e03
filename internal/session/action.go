package session

import "context"

// Action is what a command does in the front end instead of printing something.
type Action string

// Actions.
const (
	ListKeys Action = "keys"  // list the keys of the terminal
	SetTheme Action = "theme" // show or set the theme; its name is in Expansion.Words
)

// frontEnd is a command that the front end carries out.
func frontEnd(a Action) func(context.Context, *Session, string) (Expansion, error) {
	return func(_ context.Context, _ *Session, words string) (Expansion, error) {
		return Expansion{Action: a, Words: words}, nil
	}
}
